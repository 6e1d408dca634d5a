/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the colours of a picture, pixels staying where they are. The operations are those of
 * torchvision's functional transforms on bytes, each rounded to the nearest level.
 *
 *     sh_tint_brightness(&picture, sh_tint_factor(1.3)); // 30 % brighter
 *     sh_tint_hue(&picture, sh_tint_factor(-0.1));       // a tenth of the circle
 *
 * All arithmetic is on integers. Factors are parts of SH_TINT_UNIT: a whole unit changes nothing,
 * except for hue, where 0 changes nothing. Grey is 0.299 red + 0.587 green + 0.114 blue in pictures
 * of three channels, and the channel itself in others.
 *
 * Threads: any; a picture belongs to its caller.
 */
#ifndef SHOAL_DATA_AUGMENT_TINT_H
#define SHOAL_DATA_AUGMENT_TINT_H

#include "data/augment/picture.h"

#define SH_TINT_UNIT 65536

/* The nearest to a factor of -8 to 8. */
int32_t sh_tint_factor(double factor);

/* factor x; factors are not negative. */
void sh_tint_brightness(sh_picture *picture, int32_t factor);

/* Away from the mean grey of the picture, which is rounded to a level: factor x + (1 - factor)
 * mean. */
void sh_tint_contrast(sh_picture *picture, int32_t factor);

/* Away from each pixel's grey; nothing where there are not three channels. */
void sh_tint_saturation(sh_picture *picture, int32_t factor);

/* Turns the hue by a part of the circle, -1/2 to 1/2; nothing where there are not three channels.
 */
void sh_tint_hue(sh_picture *picture, int32_t part);

/* Away from the picture blurred by [1 1 1; 1 5 1; 1 1 1] / 13; pixels at the edge stay. */
void sh_tint_sharpness(sh_picture *picture, int32_t factor);

/* Keeps the first `bits` of each level, 0 to 8. */
void sh_tint_posterize(sh_picture *picture, uint32_t bits);

/* Inverts all levels whose double is at least this. */
void sh_tint_solarize(sh_picture *picture, int32_t double_threshold);

/* Stretches each channel so that its levels reach from 0 to 255. */
void sh_tint_autocontrast(sh_picture *picture);

/* Makes the levels of each channel about as frequent; the rule is that of Pillow's
 * ImageOps.equalize. */
void sh_tint_equalize(sh_picture *picture);

#endif
