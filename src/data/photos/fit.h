/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a square of a photo of any size, row by row, so that the whole photo is never in memory.
 *
 *     sh_fit *fit;
 *     SH_TRY(sh_fit_new(&fit, SH_FIT_CROP, 64, 1, width, height, 3));
 *     for (uint32_t y = 0; y < height; y++)
 *         sh_fit_row(fit, row);              // from top to bottom
 *     sh_fit_finish(fit, pixels, 3);         // [3][64][64]
 *     sh_fit_free(fit);
 *
 * Each pixel of the square is a weighted mean of the pixels around its place in the photo. The
 * weights fall linearly with the distance (a triangle) and reach 0 at one pixel of the photo or of
 * the square, whichever is larger. They are whole parts of 2^22, so the result is the same bits on
 * every machine. It is computed along rows, rounded to bytes, then along columns.
 *
 * Threads: any; one at a time per fit.
 */
#ifndef SHOAL_DATA_PHOTOS_FIT_H
#define SHOAL_DATA_PHOTOS_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_FIT_SIDE_MOST 1024        /* pixels of the square each way */
#define SH_FIT_PHOTO_SIDE_MOST 65535 /* pixels of the photo each way */

/* One list: identifier, the name on the command line (--fit). */
#define SH_FIT_MAP(X)                                                                              \
    X(CROP, "crop")       /* the largest square in the middle of the photo */                      \
    X(PAD, "pad")         /* the whole photo, black beside or above and below it */                \
    X(STRETCH, "stretch") /* the whole photo, each way by its own scale */

typedef enum sh_fit_kind {
#define SH_FIT_ENUM(name, text) SH_FIT_##name,
    SH_FIT_MAP(SH_FIT_ENUM)
#undef SH_FIT_ENUM
} sh_fit_kind;

/* "crop". */
const char *sh_fit_name(sh_fit_kind kind);

/* The kind of this name, "" for crop; false where there is none, and `*kind` is untouched. */
bool sh_fit_find(sh_fit_kind *kind, const char *name);

typedef struct sh_fit sh_fit;

/*
 * For a photo of `width` x `height` pixels (1 to SH_FIT_PHOTO_SIDE_MOST) of `channels` bytes (1 or
 * 3). `orientation` is EXIF's, 1 to 8 (exif.h): the square is turned by it. `*fit` is owned:
 * sh_fit_free it.
 */
sh_status sh_fit_new(sh_fit **fit, sh_fit_kind kind, uint32_t side, int orientation, uint32_t width,
                     uint32_t height, uint32_t channels) SHOAL_CHECKED;

/* The next row: width * channels bytes, borrowed for the call. Rows after the last do nothing. */
void sh_fit_row(sh_fit *fit, const uint8_t *row);

/* Whether the next row changes nothing, so that sh_fit_row may be given any `row`, even NULL. */
bool sh_fit_skips(const sh_fit *fit);

/* Rows that were given. */
uint32_t sh_fit_rows(const sh_fit *fit);

/* Writes the square as planes, [channels][side][side]: as many as the photo has, or 3 equal ones of
 * a grey photo. All rows were given. */
void sh_fit_finish(const sh_fit *fit, uint8_t *pixels, uint32_t channels);

/* NULL is fine. */
void sh_fit_free(sh_fit *fit);

#endif
