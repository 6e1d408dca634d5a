/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between photo.h and the image formats. Each format is one file, which defines a
 * codec, and one entry in the list of photo.c.
 *
 * Files are untrusted: a codec checks all that it reads, and a picture's size before it allocates
 * memory.
 *
 *     const sh_photo_codec sh_photo_jpeg = {.name = "JPEG", .is = jpeg_is, ...};
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_CODEC_H
#define SHOAL_DATA_PHOTOS_PHOTO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Most pixels of a picture, 268 and 67 million. SH_FIT_PHOTO_SIDE_MOST limits each side. */
#define SH_PHOTO_PIXELS_MOST (1u << 28)
#define SH_PHOTO_WHOLE_MOST (1u << 26) /* if the whole picture must be in memory */

typedef struct sh_photo_head {
    uint32_t width, height;
    uint32_t channels; /* 1: grey, 3: red, green, blue */
    int orientation;   /* EXIF orientation, 1 to 8 */
} sh_photo_head;

typedef struct sh_photo_sink sh_photo_sink;
struct sh_photo_sink {
    uint32_t least; /* pixels: a codec that reduces while decoding keeps both sides this long */
    sh_status (*begin)(sh_photo_sink *sink, const sh_photo_head *head); /* once, before rows */
    void (*row)(sh_photo_sink *sink, const uint8_t *row);               /* from top to bottom */
};

typedef struct sh_photo_codec {
    const char *name;

    /* Required: recognises the beginning of a file. */
    bool (*is)(const uint8_t *bytes, size_t count);

    /* Required: whether the beginning of a file shows a grey picture; false if unknown. */
    bool (*is_grey)(const uint8_t *bytes, size_t count);

    /* Required: passes all rows to the sink. Fails with SH_CORRUPT or SH_FORMAT if the file is
     * damaged or of an unsupported variant. The message lacks the file's name. */
    sh_status (*decode)(sh_photo_sink *sink, const uint8_t *bytes, size_t count);
} sh_photo_codec;

extern const sh_photo_codec sh_photo_jpeg, sh_photo_png, sh_photo_netpbm, sh_photo_bmp,
    sh_photo_webp;

/* SH_CORRUPT: empty, or exceeds the limits. */
sh_status sh_photo_check(uint64_t width, uint64_t height, uint64_t most) SHOAL_CHECKED;

#endif
