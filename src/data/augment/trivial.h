/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrivialAugment: each view of a picture gets one operation, of a magnitude drawn uniformly.
 *
 *     const sh_trivial_change change = sh_trivial_draw(&random);
 *     sh_trivial_apply(&picture, change);
 *
 * S. Müller, F. Hutter: "TrivialAugment: tuning-free yet state-of-the-art data augmentation", ICCV
 * 2021, in its wide space; operations and magnitudes are those of torchvision's
 * TrivialAugmentWide. What moves pixels is bilinear, and black outside.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_DATA_AUGMENT_TRIVIAL_H
#define SHOAL_DATA_AUGMENT_TRIVIAL_H

#include <stdbool.h>

#include "base/random.h"
#include "data/augment/picture.h"

#define SH_TRIVIAL_BINS 31 /* magnitudes of an operation */

/* Part of the course: their order decides what is drawn. */
typedef enum sh_trivial_kind {
    SH_TRIVIAL_IDENTITY,
    SH_TRIVIAL_SHEAR_X, /* at its most: 0.99 */
    SH_TRIVIAL_SHEAR_Y,
    SH_TRIVIAL_TRANSLATE_X, /* 32 pixels */
    SH_TRIVIAL_TRANSLATE_Y,
    SH_TRIVIAL_ROTATE,     /* 135 degrees */
    SH_TRIVIAL_BRIGHTNESS, /* a factor of 1 - 0.99 or 1 + 0.99 */
    SH_TRIVIAL_COLOUR,     /* saturation, likewise; nothing where there are not three channels */
    SH_TRIVIAL_CONTRAST,
    SH_TRIVIAL_SHARPNESS,
    SH_TRIVIAL_POSTERIZE, /* to 2 bits */
    SH_TRIVIAL_SOLARIZE,  /* from level 0 on */
    SH_TRIVIAL_AUTOCONTRAST,
    SH_TRIVIAL_EQUALIZE,
    SH_TRIVIAL_KINDS, /* how many there are */
} sh_trivial_kind;

typedef struct sh_trivial_change {
    sh_trivial_kind kind;
    uint32_t bin;  /* magnitude: bin / (SH_TRIVIAL_BINS - 1) of its most */
    bool negative; /* to the other side; where there is one */
} sh_trivial_change;

sh_trivial_change sh_trivial_draw(sh_random *random);

void sh_trivial_apply(sh_picture *picture, sh_trivial_change change);

#endif
