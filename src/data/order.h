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
 * Threads: any; an sh_order is a value without pointers, copy it freely.
 */
#ifndef SHOAL_DATA_ORDER_H
#define SHOAL_DATA_ORDER_H

#include <stdint.h>

typedef struct sh_order {
    uint32_t key[2];
    uint32_t epoch;
    uint32_t count;
    uint32_t radix[2]; /* radix[0] * radix[1] >= count, as square as possible */
} sh_order;

/* The order of `count` samples (0 is allowed and has no positions). Constant time. */
void sh_order_init(sh_order *order, uint64_t seed, uint32_t epoch, uint32_t count);

/*
 * The sample at `position` < count. Over all positions each sample of [0, count) comes exactly
 * once. Constant time (expected), well under half a microsecond, no memory.
 */
uint32_t sh_order_at(const sh_order *order, uint32_t position);

#endif
