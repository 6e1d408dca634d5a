/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical order of an epoch: which sample stands at which position. A function of (seed,
 * epoch, count) that every device computes for itself, so nobody sends, stores or advances an
 * order.
 *
 *     sh_order order;
 *     sh_order_init(&order, seed, epoch, count);
 *     for (uint32_t position = first; position < end; position++)
 *         SH_TRY(sh_dataset_read(data, split, sh_order_at(&order, position), pixels, &label));
 *
 * A balanced order draws all classes equally often, as far as the count can be divided: of a class
 * with few samples each comes several times, of one with many only some come, others in the next
 * epoch. Samples of a class come equally often too, to within one.
 *
 *     sh_order_balance(&order, index);
 *
 * Threads: any; an sh_order is a value, copy it freely.
 */
#ifndef SHOAL_DATA_ORDER_H
#define SHOAL_DATA_ORDER_H

#include <stdint.h>

#include "data/class_index.h"

typedef struct sh_order {
    uint32_t key[2];
    uint32_t epoch;
    uint32_t count;
    uint32_t radix[2];             /* radix[0] * radix[1] >= count, as square as possible */
    const sh_class_index *classes; /* of a balanced order; borrowed; NULL: each sample once */
} sh_order;

/* The order of `count` samples (0 is allowed and has no positions). Constant time. */
void sh_order_init(sh_order *order, uint64_t seed, uint32_t epoch, uint32_t count);

/* Makes an order of all samples of the index balanced. `classes` is borrowed for as long as the
 * order and its copies are used. */
void sh_order_balance(sh_order *order, const sh_class_index *classes);

/*
 * The sample at `position` < count. Over all positions each sample of [0, count) comes exactly
 * once, unless the order is balanced. Constant time (expected), about a microsecond at most.
 */
uint32_t sh_order_at(const sh_order *order, uint32_t position);

/*
 * What stands for the sample at `position` in the random numbers of an epoch: the sample itself, or
 * its position in a balanced order, so that a sample that comes twice is augmented in two ways. No
 * two positions have the same key, and all keys are below count.
 */
uint32_t sh_order_key(const sh_order *order, uint32_t position);

/* The sample that a key < count stands for. */
uint32_t sh_order_of_key(const sh_order *order, uint32_t key);

#endif
