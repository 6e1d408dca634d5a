/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augmentation: each epoch shows a training sample from another side.
 *
 *     sh_augment augment;
 *     SH_TRY(sh_augment_parse(&augment, "crop,flip"));
 *     const sh_view view = sh_augment_draw(&augment, seed, epoch, index);
 *
 * A view is a function of (seed, epoch, sample index), so it does not depend on who reads the
 * sample.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_DATA_AUGMENT_H
#define SHOAL_DATA_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_AUGMENT_CROP_MOST 64
#define SH_AUGMENT_CROP_DEFAULT 4 /* K. He et al.: "Deep residual learning", 2015, section 4.2 */

typedef struct sh_augment {
    uint32_t crop; /* pixels of black around the image that a crop may reach; 0: no crop */
    bool flip;     /* every second view is mirrored */
} sh_augment;

/* Which part of the image, padded with black without end, is seen: as large as the image itself. */
typedef struct sh_view {
    int32_t left, top; /* its first pixel; -crop .. crop */
    bool mirrored;     /* left and right, after that */
} sh_view;

/*
 * Parses a list: names with a comma between, in any order, each at most once; "" is none.
 *
 *     crop, crop:N   a random crop out of the image with N (4) pixels of black on each side
 *     flip           mirrored left to right with probability 1/2
 *
 * Fails with SH_INVALID, saying what there is.
 */
sh_status sh_augment_parse(sh_augment *augment, const char *list) SHOAL_CHECKED;

/* How sample `index` of the training split is seen in an epoch. */
sh_view sh_augment_draw(const sh_augment *augment, uint64_t seed, uint32_t epoch, uint32_t index);

#endif
