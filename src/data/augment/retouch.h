/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augments the bytes of an image before crop and flip, in the order that augment.h lists.
 *
 *     if (sh_augment_retouches(&augment))
 *         sh_retouch(&picture, &augment, colour, seed, epoch, index);
 *
 * Threads: any, each with its own picture and `random`.
 */
#ifndef SHOAL_DATA_AUGMENT_RETOUCH_H
#define SHOAL_DATA_AUGMENT_RETOUCH_H

#include "data/augment.h"
#include "data/augment/picture.h"

/* Augments the picture of sample `index`. Erased pixels get `colour`, one byte for each channel. */
void sh_retouch(sh_picture *picture, const sh_augment *augment, const uint8_t *colour,
                uint64_t seed, uint32_t epoch, uint32_t index);

/*
 * Draws a part of an image, as torchvision's RandomResizedCrop: `least` to 1 of the area, 3/4 to
 * 4/3 as wide as high. After ten attempts that do not fit, returns the largest part in the middle
 * with such a ratio.
 */
sh_box sh_retouch_crop(sh_random *random, uint32_t height, uint32_t width, double least);

/* Draws the box to erase, as torchvision's RandomErasing. False if none of ten attempts fits. */
bool sh_retouch_erased(sh_box *box, sh_random *random, uint32_t height, uint32_t width);

#endif
