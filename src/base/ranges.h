/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of small numbers, kept as ranges: which grains of a batch a device holds, which it is to
 * compute.
 *
 *     sh_ranges missing;
 *     if (!sh_ranges_complement(&missing, &held, batch.grains))
 *         ... too scattered: forget what is held, compute all of it again ...
 *     for (uint32_t i = 0; i < sh_ranges_total(&missing); i++)
 *         ... sh_ranges_at(&missing, i) ...
 *
 * Ranges rise, none is empty and no two touch, so equal sets are equal bytes up to `count` items. A
 * set is bounded, because it goes into messages and because nothing is allocated within a step: a
 * function whose result needs more items fails and leaves its output unchanged.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_BASE_RANGES_H
#define SHOAL_BASE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define SH_RANGES_MAX 32

/* Consecutive numbers: positions of samples in an epoch's order, or grains of a step. */
typedef struct sh_range {
    uint32_t first, count;
} sh_range;

typedef struct sh_ranges {
    uint32_t count; /* zero: the empty set */
    sh_range items[SH_RANGES_MAX];
} sh_ranges;

/* Adds a range, which may overlap with the set. False: no room. */
bool sh_ranges_add(sh_ranges *ranges, sh_range range);

/* Adds all of `more`. False: no room. */
bool sh_ranges_unite(sh_ranges *ranges, const sh_ranges *more);

/* The numbers 0 .. total - 1 that `ranges` lacks. False: no room. */
bool sh_ranges_complement(sh_ranges *missing, const sh_ranges *ranges, uint32_t total);

/* Moves the first `numbers` numbers of `from` (all, if it has fewer) into `taken`. */
void sh_ranges_take(sh_ranges *taken, sh_ranges *from, uint32_t numbers);

/* How many numbers it has. */
uint32_t sh_ranges_total(const sh_ranges *ranges);

/* Number `index` of them, in rising order, from 0 to total - 1. */
uint32_t sh_ranges_at(const sh_ranges *ranges, uint32_t index);

bool sh_ranges_overlap(const sh_ranges *a, const sh_ranges *b);

/* Whether it has any number of the range. */
bool sh_ranges_meet(const sh_ranges *ranges, sh_range range);

/* Whether it is a set as this module makes them, of numbers below `total`: to check what others
 * have sent. */
bool sh_ranges_valid(const sh_ranges *ranges, uint32_t total);

#endif
