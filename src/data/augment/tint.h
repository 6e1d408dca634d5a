/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes the colours of a picture without moving pixels. The operations are those of torchvision's
 * functional transforms on bytes, each rounded to the nearest level.
 *
 * All arithmetic is on integers, with factors in units of 1/SH_TINT_UNIT. A factor of 1 changes
 * nothing, and so does a hue of 0. Grey is 0.299 red + 0.587 green + 0.114 blue in pictures of
 * three channels, otherwise the channel itself.
 *
 *     sh_tint_brightness(&picture, sh_tint_factor(1.3)); // 30 % brighter
 *     sh_tint_hue(&picture, sh_tint_factor(-0.1));       // a tenth of the circle
 *
 * Threads: any, each with its own picture.
 */
#ifndef SHOAL_DATA_AUGMENT_TINT_H
#define SHOAL_DATA_AUGMENT_TINT_H

#include "data/augment/picture.h"

#define SH_TINT_UNIT 65536

/* `factor`: -8 to 8; the result is rounded to the nearest unit. */
int32_t sh_tint_factor(double factor);

/* `factor` must not be negative. */
void sh_tint_brightness(sh_picture *picture, int32_t factor);

/* Moves each level x away from the picture's mean grey, rounded to a level: factor x + (1 - factor)
 * mean. */
void sh_tint_contrast(sh_picture *picture, int32_t factor);

/* Moves each pixel away from its grey. Does nothing unless there are three channels. */
void sh_tint_saturation(sh_picture *picture, int32_t factor);

/* Rotates the hue by -1/2 to 1/2 of the circle. Does nothing unless there are three channels. */
void sh_tint_hue(sh_picture *picture, int32_t part);

/* Moves pixels away from the picture blurred by [1 1 1; 1 5 1; 1 1 1] / 13; keeps the border. */
void sh_tint_sharpness(sh_picture *picture, int32_t factor);

/* Keeps the highest `bits` bits, 0 to 8. */
void sh_tint_posterize(sh_picture *picture, uint32_t bits);

/* Inverts levels of at least double_threshold / 2. */
void sh_tint_solarize(sh_picture *picture, int32_t double_threshold);

/* Stretches the levels of each channel to 0 .. 255. */
void sh_tint_autocontrast(sh_picture *picture);

/* Equalises the histogram of each channel by the rule of Pillow's ImageOps.equalize. */
void sh_tint_equalize(sh_picture *picture);

#endif
