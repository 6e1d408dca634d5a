/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the bytes of an image file to a sample.
 *
 * The format is recognised by content, not by name: JPEG, PNG, PPM and PGM, BMP, WebP.
 *
 *     grey          one channel, or three equal channels
 *     palette       converted to colour
 *     16 bits       the upper 8 bits
 *     transparent   composed over white
 *     CMYK          red = cyan * black / 255 of inverted inks, and so on; no colour profile
 *     orientation   applied, unless the form disables it
 *
 * JPEGs are reduced by 2, 4 or 8 during decoding, as long as each side remains at least twice the
 * sample's.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_H
#define SHOAL_DATA_PHOTOS_PHOTO_H

#include "data/photos/fit.h"

#define SH_PHOTO_HEAD_BYTES (1u << 17) /* bytes that usually include the header */

typedef struct sh_photo_form {
    uint32_t side;     /* pixels: 1 to SH_FIT_SIDE_MOST */
    uint32_t channels; /* 1 or 3 */
    sh_fit_kind fit;
    bool no_exif; /* ignore the EXIF orientation */
} sh_photo_form;

/*
 * Writes [channels][side][side]. Fails with SH_CORRUPT or SH_FORMAT if the file is damaged, of an
 * unknown format, or in colour while the form is grey; with SH_UNSUPPORTED if the format's library
 * is missing. The message lacks the file's name.
 */
sh_status sh_photo_decode(uint8_t *sample, const sh_photo_form *form, const uint8_t *bytes,
                          size_t count) SHOAL_CHECKED;

/* Whether the beginning of a file shows a grey photo; false if unknown. */
bool sh_photo_is_grey(const uint8_t *bytes, size_t count);

/* .jpg .jpeg .png .ppm .pgm .bmp .webp, in any case. */
bool sh_photo_is_named(const char *name);

#endif
