/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides samples into training and validation by their names.
 *
 * An item goes to validation if the first 64 bits of its name's SHA-256, as a fraction of 2^64, are
 * below the requested part. So adding or removing items moves no others. If all of a class falls
 * into one split, its name nearest to the limit moves to the other.
 *
 * Items that belong together share a name.
 *
 *     sh_split_item items[] = {{"roses/1.jpg", 0}, {"roses/2.jpg", 0}, {"tulips/1.jpg", 1}};
 *     SH_TRY(sh_split_assign(items, 3, 2, 0.2));
 *     if (items[1].split == SH_SPLIT_VALIDATION) ...
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_SPLIT_H
#define SHOAL_DATA_SPLIT_H

#include "data/dataset.h"

typedef struct sh_split_item {
    const char *name; /* borrowed for the call; equal names stay together */
    uint32_t class;   /* below the number of classes; 0 without classes */
    sh_split split;   /* output */
} sh_split_item;

/* 0 < `part` < 1. SH_INVALID if a split would be empty. */
sh_status sh_split_assign(sh_split_item *items, size_t count, uint32_t classes,
                          double part) SHOAL_CHECKED;

#endif
