/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One photo: from the bytes of an image file to a sample.
 *
 *     const sh_photo_form form = {.side = 64, .channels = 3, .fit = SH_FIT_CROP};
 *     SH_TRY(sh_fail_in(sh_photo_decode(sample, &form, bytes, count), "%s", path));
 *
 * What a file is, is told by its content, not by its name: JPEG, PNG, PPM and PGM, BMP, WebP.
 *
 *     grey          is grey, three equal channels in a sample of three
 *     palette       is colour
 *     16 bits       the upper 8 of them
 *     transparent   lies on white
 *     CMYK          red = cyan * black / 255 of inverted inks, and so on; no colour profile
 *     orientation   is applied, unless the form says otherwise
 *
 * JPEGs that are much larger than the sample are reduced by 2, 4 or 8 while they are decoded, as
 * long as each side stays at least twice as long as the sample's.
 *
 * Threads: any, several at once.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_H
#define SHOAL_DATA_PHOTOS_PHOTO_H

#include "data/photos/fit.h"

#define SH_PHOTO_HEAD_BYTES (1u << 17) /* of a file, in which its head usually ends */

/* How samples are made. */
typedef struct sh_photo_form {
    uint32_t side;     /* pixels each way: 1 to SH_FIT_SIDE_MOST */
    uint32_t channels; /* 1 or 3 */
    sh_fit_kind fit;
    bool no_exif; /* photos lie as they are stored */
} sh_photo_form;

/*
 * Writes the sample, [channels][side][side]. Fails with SH_CORRUPT or SH_FORMAT where the file is
 * damaged, of no kind that is read, or in colour where the form is grey; the message lacks the
 * file's name. SH_UNSUPPORTED where the library for it is missing.
 */
sh_status sh_photo_decode(uint8_t *sample, const sh_photo_form *form, const uint8_t *bytes,
                          size_t count) SHOAL_CHECKED;

/* Whether a photo is grey, by the beginning of its file; false where that is not known. */
bool sh_photo_is_grey(const uint8_t *bytes, size_t count);

/* Whether a file of this name is taken for a photo: .jpg .jpeg .png .ppm .pgm .bmp .webp, in any
 * case. */
bool sh_photo_is_named(const char *name);

#endif
