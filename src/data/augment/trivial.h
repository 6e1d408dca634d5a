/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrivialAugment: applies one random operation of uniformly drawn magnitude to each picture. S.
 * Müller, F. Hutter: "TrivialAugment: tuning-free yet state-of-the-art data augmentation", ICCV
 * 2021, with its wide search space. Operations and magnitudes are those of torchvision's
 * TrivialAugmentWide. Operations that move pixels interpolate bilinearly, with black outside.
 *
 *     const sh_trivial_change change = sh_trivial_draw(&random);
 *     sh_trivial_apply(&picture, change);
 *
 * Threads: any, each with its own picture and `random`.
 */
#ifndef SHOAL_DATA_AUGMENT_TRIVIAL_H
#define SHOAL_DATA_AUGMENT_TRIVIAL_H

#include <stdbool.h>

#include "base/random.h"
#include "data/augment/picture.h"

#define SH_TRIVIAL_BINS 31 /* magnitudes of an operation */

/* The order decides what is drawn, so changing it changes training runs. */
typedef enum sh_trivial_kind {
    SH_TRIVIAL_IDENTITY,
    SH_TRIVIAL_SHEAR_X, /* up to 0.99 */
    SH_TRIVIAL_SHEAR_Y,
    SH_TRIVIAL_TRANSLATE_X, /* up to 32 pixels */
    SH_TRIVIAL_TRANSLATE_Y,
    SH_TRIVIAL_ROTATE,     /* up to 135 degrees */
    SH_TRIVIAL_BRIGHTNESS, /* a factor of 1 - 0.99 to 1 + 0.99 */
    SH_TRIVIAL_COLOUR,     /* saturation, same factors; nothing unless there are three channels */
    SH_TRIVIAL_CONTRAST,
    SH_TRIVIAL_SHARPNESS,
    SH_TRIVIAL_POSTERIZE, /* down to 2 bits */
    SH_TRIVIAL_SOLARIZE,  /* down to a threshold of 0 */
    SH_TRIVIAL_AUTOCONTRAST,
    SH_TRIVIAL_EQUALIZE,
    SH_TRIVIAL_KINDS,
} sh_trivial_kind;

typedef struct sh_trivial_change {
    sh_trivial_kind kind;
    uint32_t bin;  /* magnitude: bin / (SH_TRIVIAL_BINS - 1) of the largest */
    bool negative; /* ignored by operations without a direction */
} sh_trivial_change;

sh_trivial_change sh_trivial_draw(sh_random *random);

void sh_trivial_apply(sh_picture *picture, sh_trivial_change change);

#endif
