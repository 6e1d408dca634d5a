/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that brings coming samples from disk into the system's page cache, so that the lanes
 * that read them later do not wait for the disk.
 *
 *     sh_prefetch *prefetch;
 *     SH_TRY(sh_prefetch_start(&prefetch, dataset, NULL));
 *     sh_prefetch_want(prefetch, SH_SPLIT_TRAIN, &order, batch.samples.first, batch.samples.count);
 *     sh_prefetch_stop(prefetch);
 *
 * It never changes what is read, and nothing depends on how far it gets.
 *
 * Threads: start, want and stop by one caller; samples may be read at any time by any thread.
 */
#ifndef SHOAL_DATA_PREFETCH_H
#define SHOAL_DATA_PREFETCH_H

#include "data/order.h"
#include "data/pipeline.h"

typedef struct sh_prefetch sh_prefetch;

/*
 * `dataset` is borrowed until the stop, as are the classes of orders, and `mixing`: a pipeline
 * whose training samples are mixed with others, which are brought too (sh_pipeline_partner); NULL
 * if none is. Data that are on no disk need no thread and get none. `*prefetch` is owned:
 * sh_prefetch_stop it.
 */
sh_status sh_prefetch_start(sh_prefetch **prefetch, const sh_dataset *dataset,
                            const sh_pipeline *mixing) SHOAL_CHECKED;

/*
 * The samples at positions first .. first + count - 1 of `order` (copied), or with these numbers
 * where `order` is NULL, will be read soon. All must be there. The newest wish replaces what is
 * left of the one before. Wishes of a split that have been in the cache for long are only now and
 * then looked after. Never waits for the disk.
 */
void sh_prefetch_want(sh_prefetch *prefetch, sh_split split, const sh_order *order, uint32_t first,
                      uint32_t count);

/* Whether the next wish of this split is passed over, because those before it were all there when
 * they were asked for. Any thread. */
bool sh_prefetch_rests(sh_prefetch *prefetch, sh_split split);

/* Ends after the sample under way, and frees. NULL is fine. */
void sh_prefetch_stop(sh_prefetch *prefetch);

#endif
