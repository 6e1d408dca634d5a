/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of a batch's grains, as ranges: what a device holds, what it is to do.
 *
 *     sh_ranges missing;
 *     if (!sh_ranges_complement(&missing, &held, batch.grains))
 *         ... too scattered: forget what is held, do it all again ...
 *
 * Rising, never empty, never touching; so equal sets are equal bytes up to `count` items. It is
 * bounded, because it goes into messages: what needs more items fails and leaves its output as it
 * was. A trainer's own account has no bound (train/grain_list.h): what it added it must be able to
 * compute again.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_RANGES_H
#define SHOAL_CLUSTER_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "train/schedule.h"

#define SH_RANGES_MAX 32

typedef struct sh_ranges {
    uint32_t count; /* zero: the empty set */
    sh_range items[SH_RANGES_MAX];
} sh_ranges;

/* Adds a range, which may lie over what is there. False: no room. */
bool sh_ranges_add(sh_ranges *ranges, sh_range range);

/* Adds all of `more`. False: no room. */
bool sh_ranges_unite(sh_ranges *ranges, const sh_ranges *more);

/* What `ranges` lacks of the grains 0 .. total - 1. False: no room. */
bool sh_ranges_complement(sh_ranges *missing, const sh_ranges *ranges, uint32_t total);

/* Takes the first `grains` of `from` (or all, where it has fewer) away into `taken`. */
void sh_ranges_take(sh_ranges *taken, sh_ranges *from, uint32_t grains);

/* How many grains they are. */
uint32_t sh_ranges_grains(const sh_ranges *ranges);

bool sh_ranges_overlap(const sh_ranges *a, const sh_ranges *b);

/* Whether it is a set as this module makes them, of grains below `total`: for what others sent. */
bool sh_ranges_valid(const sh_ranges *ranges, uint32_t total);

#endif
