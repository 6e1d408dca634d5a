/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `digits`: handwritten-looking digits that the program draws, so that a first training needs no
 * download. Sample i of a split is a pure function of (split, i), the same bits on every
 * architecture.
 *
 *     uint8_t pixels[SH_DIGITS_PIXELS];
 *     const int32_t label = sh_digits_draw(pixels, SH_SPLIT_TRAIN, 41);
 *
 * The fingerprint covers the numbers of samples and the pixels of the first of each split, so it
 * differs where a device would draw differently.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_DIGITS_H
#define SHOAL_DATA_DIGITS_H

#include "data/dataset.h"

#define SH_DIGITS_SIDE 28
#define SH_DIGITS_PIXELS (SH_DIGITS_SIDE * SH_DIGITS_SIDE)
#define SH_DIGITS_CLASSES 10
#define SH_DIGITS_TRAIN 10000     /* samples unless the spec says otherwise */
#define SH_DIGITS_VALIDATION 2000 /* samples unless the spec says otherwise */
#define SH_DIGITS_MOST 100000000  /* samples of one split */

/* Draws one sample, ink 255 on paper 0, row by row, and returns its label. Tens of microseconds. */
int32_t sh_digits_draw(uint8_t pixels[SH_DIGITS_PIXELS], sh_split split, uint32_t index);

#endif
