/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of samples in an epoch: a function of (seed, epoch, count), so every device computes
 * it, and it is never sent, stored or advanced.
 *
 * A balanced order draws classes equally often, to within one, and likewise the samples of a class.
 * Samples of a small class repeat; a large class has only some in each epoch.
 *
 *     sh_order order;
 *     sh_order_init(&order, seed, epoch, count);
 *     for (uint32_t position = first; position < end; position++)
 *         SH_TRY(sh_dataset_read(data, split, sh_order_at(&order, position), pixels, &label));
 *
 * Threads: any; may be copied.
 */
#ifndef SHOAL_DATA_ORDER_H
#define SHOAL_DATA_ORDER_H

#include <stdint.h>

#include "data/class_index.h"

typedef struct sh_order {
    uint32_t key[2];
    uint32_t epoch;
    uint32_t count;
    uint32_t radix[2];             /* product >= count, nearly square */
    const sh_class_index *classes; /* borrowed; NULL: not balanced */
} sh_order;

/* `count` may be 0. Constant time. */
void sh_order_init(sh_order *order, uint64_t seed, uint32_t epoch, uint32_t count);

/* `order` must be of all samples of `classes`, borrowed while the order or a copy is in use. */
void sh_order_balance(sh_order *order, const sh_class_index *classes);

/* `position` < count. Each sample occurs once unless balanced. Constant expected time, at most
 * about a microsecond. */
uint32_t sh_order_at(const sh_order *order, uint32_t position);

/* The key for random numbers: the sample, or in a balanced order the position, so that repeated
 * samples are augmented differently. Unique and below count. */
uint32_t sh_order_key(const sh_order *order, uint32_t position);

/* The sample of a key < count. */
uint32_t sh_order_of_key(const sh_order *order, uint32_t key);

#endif
