/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of a batch's grains, as ranges: what a device has to compute, and what it has computed.
 *
 *     sh_grain_list list = {0};
 *     SH_TRY(sh_grain_list_add(&list, (sh_range){8, 4}));
 *     for (uint32_t i = 0; i < list.total; i++)
 *         ... sh_grain_list_at(&list, i) ...
 *     sh_grain_list_release(&list);
 *
 * Threads: caller locks; reading from any number at once.
 */
#ifndef SHOAL_TRAIN_GRAIN_LIST_H
#define SHOAL_TRAIN_GRAIN_LIST_H

#include "base/fail.h"
#include "train/schedule.h"

/* All zero: an empty one. Transparent, to be read. */
typedef struct sh_grain_list {
    sh_range *ranges; /* rising, with gaps between them, none empty; owned */
    uint32_t count;   /* of them */
    uint32_t total;   /* grains */
    size_t capacity;
} sh_grain_list;

void sh_grain_list_release(sh_grain_list *list);

/* Empties it and keeps its memory. */
void sh_grain_list_clear(sh_grain_list *list);

/* Adds a range; an empty one changes nothing. SH_INVALID where it has one of these already. */
sh_status sh_grain_list_add(sh_grain_list *list, sh_range range) SHOAL_CHECKED;

/* Adds all of another list, likewise; on failure it has none or some of them. */
sh_status sh_grain_list_merge(sh_grain_list *list, const sh_grain_list *other) SHOAL_CHECKED;

/* Whether it has any grain of the range. */
bool sh_grain_list_meets(const sh_grain_list *list, sh_range range);

/* Grain number `index` of it, from 0 to total - 1, in rising order. */
uint32_t sh_grain_list_at(const sh_grain_list *list, uint32_t index);

#endif
