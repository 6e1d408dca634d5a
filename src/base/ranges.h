/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of small numbers, stored as ranges: the grains of a batch that a device holds or must
 * compute.
 *
 *     if (!sh_ranges_complement(&missing, &held, batch.grains))
 *         ... too scattered: discard what is held, compute everything again ...
 *     for (uint32_t i = 0; i < sh_ranges_total(&missing); i++)
 *         ... sh_ranges_at(&missing, i) ...
 *
 * Ranges ascend, none is empty and no two touch, so equal sets are equal bytes up to `count` items.
 * A function whose result needs more than SH_RANGES_MAX ranges returns false and leaves its output
 * unchanged.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_BASE_RANGES_H
#define SHOAL_BASE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define SH_RANGES_MAX 32

/* Samples in an epoch's order, or grains of a step. */
typedef struct sh_range {
    uint32_t first, count;
} sh_range;

typedef struct sh_ranges {
    uint32_t count;
    sh_range items[SH_RANGES_MAX];
} sh_ranges;

/* The range may overlap the set. False: no room. */
bool sh_ranges_add(sh_ranges *ranges, sh_range range);

/* False: no room. */
bool sh_ranges_add_all(sh_ranges *ranges, const sh_ranges *more);

/* The numbers 0 .. total - 1 that `ranges` lacks. False: no room. */
bool sh_ranges_complement(sh_ranges *missing, const sh_ranges *ranges, uint32_t total);

/* Moves the first `numbers` numbers of `from` (all, if it has fewer) into `taken`. */
void sh_ranges_take(sh_ranges *taken, sh_ranges *from, uint32_t numbers);

uint32_t sh_ranges_total(const sh_ranges *ranges);

/* Element `index` in ascending order, from 0 to total - 1. */
uint32_t sh_ranges_at(const sh_ranges *ranges, uint32_t index);

bool sh_ranges_overlap(const sh_ranges *a, const sh_ranges *b);

bool sh_ranges_intersect(const sh_ranges *ranges, sh_range range);

/* Whether a received set is well formed, with all numbers below `total`. */
bool sh_ranges_valid(const sh_ranges *ranges, uint32_t total);

#endif
