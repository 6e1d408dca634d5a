/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What augmentation does to the bytes of an image before crop and flip (augment.h), in its order.
 *
 *     if (sh_augment_retouches(&augment))
 *         sh_retouch(&picture, &augment, colour, seed, epoch, index);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_AUGMENT_RETOUCH_H
#define SHOAL_DATA_AUGMENT_RETOUCH_H

#include "data/augment.h"
#include "data/augment/picture.h"

/* Changes the picture as sample `index` is seen in an epoch. What is erased gets `colour`, a byte
 * for each channel. */
void sh_retouch(sh_picture *picture, const sh_augment *augment, const uint8_t *colour,
                uint64_t seed, uint32_t epoch, uint32_t index);

/*
 * A random part of an image: `least` to 1 of its area, 3/4 to 4/3 as wide as high, anywhere. As
 * torchvision's RandomResizedCrop: ten attempts, then the largest part in the middle whose shape is
 * within these bounds.
 */
sh_box sh_retouch_crop(sh_random *random, uint32_t height, uint32_t width, double least);

/* What erase covers, as torchvision's RandomErasing: false where ten attempts gave nothing that
 * fits. */
bool sh_retouch_erased(sh_box *box, sh_random *random, uint32_t height, uint32_t width);

#endif
