/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes a photo of any size to a square, row by row, without holding the whole photo in memory.
 *
 * Each pixel of the square is a weighted mean of the pixels around its place in the photo. The
 * weights decrease linearly with the distance and reach 0 at one pixel of the photo or of the
 * square, whichever is larger. They are integers in units of 2^-22, so every machine computes the
 * same. Rows are resized first and rounded to bytes, then columns.
 *
 *     sh_fit *fit;
 *     SH_TRY(sh_fit_new(&fit, SH_FIT_CROP, 64, 1, width, height, 3));
 *     for (uint32_t y = 0; y < height; y++)
 *         sh_fit_row(fit, row);              // from top to bottom
 *     sh_fit_finish(fit, pixels, 3);         // [3][64][64]
 *     sh_fit_free(fit);
 *
 * Threads: caller locks each fit.
 */
#ifndef SHOAL_DATA_PHOTOS_FIT_H
#define SHOAL_DATA_PHOTOS_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_FIT_SIDE_MOST 1024        /* of the square, each way */
#define SH_FIT_PHOTO_SIDE_MOST 65535 /* of the photo, each way */

#define SH_FIT_MAP(X)                                                                              \
    X(CROP, "crop")       /* the largest square in the middle */                                   \
    X(PAD, "pad")         /* the whole photo, with black bars */                                   \
    X(STRETCH, "stretch") /* the whole photo, each axis with its own scale */

typedef enum sh_fit_kind {
#define SH_FIT_ENUM(name, text) SH_FIT_##name,
    SH_FIT_MAP(SH_FIT_ENUM)
#undef SH_FIT_ENUM
} sh_fit_kind;

const char *sh_fit_name(sh_fit_kind kind);

/* "" means crop. False if the name is unknown. */
bool sh_fit_find(sh_fit_kind *kind, const char *name);

typedef struct sh_fit sh_fit;

/* `width` and `height` are 1 to SH_FIT_PHOTO_SIDE_MOST, `channels` 1 or 3. The square is rotated by
 * `orientation`, the EXIF value 1 to 8 (exif.h). SH_NO_MEMORY. */
sh_status sh_fit_new(sh_fit **fit, sh_fit_kind kind, uint32_t side, int orientation, uint32_t width,
                     uint32_t height, uint32_t channels) SHOAL_CHECKED;

/* Adds the next row from the top, width * channels bytes, borrowed for the call. Ignores rows past
 * the last. */
void sh_fit_row(sh_fit *fit, const uint8_t *row);

/* True if the next row does not affect the result: sh_fit_row then accepts any `row`, even NULL. */
bool sh_fit_skips(const sh_fit *fit);

/* The number of rows added. */
uint32_t sh_fit_rows(const sh_fit *fit);

/* Writes [channels][side][side]. `channels` must be the photo's, or 3 for a grey photo, which gives
 * three equal planes. All rows must have been added. */
void sh_fit_finish(const sh_fit *fit, uint8_t *pixels, uint32_t channels);

void sh_fit_free(sh_fit *fit);

#endif
