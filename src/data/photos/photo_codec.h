/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between photo.h and the kinds of image files. A kind is one file, which defines its row,
 * and one line in the list of photo.c:
 *
 *     const sh_photo_codec sh_photo_jpeg = {.name = "JPEG", .is = jpeg_is, ...};
 *
 * Files come from anywhere: a codec checks all that it reads, and takes no memory for a picture
 * before its size is checked.
 *
 * Threads: any, several at once.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_CODEC_H
#define SHOAL_DATA_PHOTOS_PHOTO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Of a picture: SH_FIT_PHOTO_SIDE_MOST each way, and these in all: 268 and 67 million. */
#define SH_PHOTO_PIXELS_MOST (1u << 28)
#define SH_PHOTO_WHOLE_MOST (1u << 26) /* where it must be in memory as a whole */

typedef struct sh_photo_head {
    uint32_t width, height;
    uint32_t channels; /* 1: grey, 3: red, green, blue */
    int orientation;   /* EXIF's, 1 to 8 */
} sh_photo_head;

/* Where the rows of a picture go. */
typedef struct sh_photo_sink sh_photo_sink;
struct sh_photo_sink {
    uint32_t least; /* pixels: a codec that can reduce at once keeps both sides at least so long */
    sh_status (*begin)(sh_photo_sink *sink, const sh_photo_head *head); /* once, before rows */
    void (*row)(sh_photo_sink *sink, const uint8_t *row);               /* from top to bottom */
};

typedef struct sh_photo_codec {
    const char *name; /* "JPEG" */

    /* Required: whether a file that begins so is of this kind. */
    bool (*is)(const uint8_t *bytes, size_t count);

    /* Required: whether a picture is grey by the beginning of its file; false where that is not
     * known. */
    bool (*is_grey)(const uint8_t *bytes, size_t count);

    /* Required: gives all rows to the sink. SH_CORRUPT and SH_FORMAT: the file is damaged or of a
     * kind that is not read; the message says why, without the file's name. */
    sh_status (*decode)(sh_photo_sink *sink, const uint8_t *bytes, size_t count);
} sh_photo_codec;

extern const sh_photo_codec sh_photo_jpeg, sh_photo_png, sh_photo_netpbm, sh_photo_bmp,
    sh_photo_webp;

/* Fails with SH_CORRUPT unless a picture of this size may be read. */
sh_status sh_photo_check(uint64_t width, uint64_t height, uint64_t most) SHOAL_CHECKED;

#endif
