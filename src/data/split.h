/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides samples that have no split of their own into training and validation, by their names.
 *
 *     sh_split_item items[] = {{"roses/1.jpg", 0}, {"roses/2.jpg", 0}, {"tulips/1.jpg", 1}};
 *     SH_TRY(sh_split_assign(items, 3, 2, 0.2));
 *     if (items[1].split == SH_SPLIT_VALIDATION) ...
 *
 * An item goes to validation where the first 64 bits of its name's SHA-256, as a fraction of 2^64,
 * are below the part that is asked for. So nothing that was trained with is validated with when
 * items are added or removed, and each class is divided alike but for chance. A class of two items
 * or more that chance puts on one side gives its outermost item to the other.
 *
 * Items that belong together, such as recordings of one person, have one name.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_SPLIT_H
#define SHOAL_DATA_SPLIT_H

#include "data/dataset.h"

typedef struct sh_split_item {
    const char *name; /* borrowed for the call; equal names stay together */
    uint32_t class;   /* below the number of classes; 0 for all where there are none */
    sh_split split;   /* set */
} sh_split_item;

/*
 * Sets `split` of all `count` items. `part` is above 0 and below 1. Fails with SH_INVALID where
 * all items have one name, so that one split would be empty.
 */
sh_status sh_split_assign(sh_split_item *items, size_t count, uint32_t classes,
                          double part) SHOAL_CHECKED;

#endif
