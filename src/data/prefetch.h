/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that loads upcoming samples from disk into the system's page cache, so that lanes do not
 * wait for the disk. Never affects what is read.
 *
 *     sh_prefetch *prefetch;
 *     SH_TRY(sh_prefetch_start(&prefetch, dataset, NULL));
 *     sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, &order, batch.samples.first, batch.samples.count);
 *     sh_prefetch_stop(prefetch);
 *
 * Threads: start, want and stop by one caller; any may read samples meanwhile.
 */
#ifndef SHOAL_DATA_PREFETCH_H
#define SHOAL_DATA_PREFETCH_H

#include "data/order.h"
#include "data/pipeline.h"

typedef struct sh_prefetch sh_prefetch;

/* Borrows until the stop: `dataset`, the classes of orders, and `mixing`, a pipeline whose training
 * samples need their partners too, or NULL. Data not on disk need no thread. */
sh_status sh_prefetch_start(sh_prefetch **prefetch, const sh_dataset *dataset,
                            const sh_pipeline *mixing) SHOAL_CHECKED;

/*
 * Positions first .. first + count - 1 of `order` (copied), or these samples if it is NULL, will be
 * read soon; all must exist. Replaces the rest of the previous wish. Skips most wishes of a split
 * that has long been cached. Never waits for the disk.
 */
void sh_prefetch_want(sh_prefetch *prefetch, sh_split split, const sh_order *order, uint32_t first,
                      uint32_t count);

/* Whether the split's next wish will be skipped. Any thread. */
bool sh_prefetch_will_skip(sh_prefetch *prefetch, sh_split split);

/* Waits for the current sample. */
void sh_prefetch_stop(sh_prefetch *prefetch);

#endif
