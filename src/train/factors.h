/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sufficient factors (Zhang et al., "Poseidon", 2017). The gradient of a dense layer's weights, [O,
 * K], is the product dy^T x of [N, O] and [N, K]. If these factors have far fewer bytes than the
 * gradient, devices gather each other's factors instead of summing the gradient. Each device then
 * computes the terms of all grains, with the same instruction as a grain's own device, so it gets
 * the same sum.
 *
 *     const size_t record = sh_factors_open(factors, grain, samples);  // a grain begins
 *     sh_factors_take(factors, record, samples, place, execution);     // in its sink
 *     ... an engine gathers sh_factors_begin's span; as words arrive: ...
 *     SH_TRY(sh_factors_read(factors, &batch, held, words, &count));
 *     for each new record: SH_TRY(sh_factors_complete(factors, index, sum, execution));
 *
 * A grain's gradient is also added to the own part of the sum, so that a stage can continue by
 * other means.
 *
 * Threads: open, take and complete from any lanes concurrently; the rest: caller locks.
 */
#ifndef SHOAL_TRAIN_FACTORS_H
#define SHOAL_TRAIN_FACTORS_H

#include "backend/program.h"
#include "base/ranges.h"
#include "reduce/engine.h"
#include "train/replica.h"
#include "train/schedule.h"

typedef struct sh_factors sh_factors;

/* Estimates whether gathering is faster than summing for a gradient [O, K] of a batch, for any
 * number of devices. All devices get the same answer. `wire`: bits of a summed element. */
bool sh_factors_are_faster(size_t O, size_t K, uint32_t samples, uint32_t wire);

/*
 * For batches of at most `samples` samples in grains of `grain`. Uses only dense weights that are
 * first in their bucket, so that the other tensors stay one span. `*factors` (owned) is NULL if no
 * tensor benefits.
 */
sh_status sh_factors_new(sh_factors **factors, const sh_replica *replica, uint32_t samples,
                         uint32_t grain) SHOAL_CHECKED;
void sh_factors_free(sh_factors *factors);

/* Bytes of all records of a full batch. */
uint64_t sh_factors_record_bytes(const sh_factors *factors);

/* sh_factors_share allocates sh_factors_bytes() bytes for the records, once. Both accept NULL. */
sh_status sh_factors_share(sh_factors *factors) SHOAL_CHECKED;
uint64_t sh_factors_bytes(const sh_factors *factors);

/* Whether the execution, for `samples` samples, has all needed products. */
bool sh_factors_fit(const sh_factors *factors, const sh_execution *execution, uint32_t samples);

/* Whether the tensor at this place of the sum is gathered; false if `factors` is NULL. */
bool sh_factors_has(const sh_factors *factors, uint32_t place);
uint32_t sh_factors_count(const sh_factors *factors);

/* Drops all records. Call when the own part of the sum is cleared. */
void sh_factors_clear(sh_factors *factors);

/* sh_factors_open reserves a record for a grain and returns its position. sh_factors_take copies
 * the factors of the tensor at `place` into it, and does nothing for other tensors. */
size_t sh_factors_open(sh_factors *factors, uint32_t grain, uint32_t samples);
void sh_factors_take(sh_factors *factors, size_t record, uint32_t samples, uint32_t place,
                     const sh_execution *execution);

/* The span to gather in a stage: the present records and those of the grains in `todo`. */
sh_span sh_factors_begin(sh_factors *factors, const sh_batch *batch, const sh_ranges *todo);

/* Finds other devices' records in the first `words` gathered words; `*count` is their number so
 * far. SH_FORMAT unless each record is complete and belongs to a grain of the batch that is not in
 * `held` and was not received before. */
sh_status sh_factors_read(sh_factors *factors, const sh_batch *batch, const sh_ranges *held,
                          size_t words, uint32_t *count) SHOAL_CHECKED;

/* For received record `index`: its number of samples, for which the execution must be compiled;
 * sh_factors_complete adds its terms to the total. */
uint32_t sh_factors_samples(const sh_factors *factors, const sh_batch *batch, uint32_t index);
sh_status sh_factors_complete(const sh_factors *factors, uint32_t index, sh_sum *sum,
                              sh_execution *execution) SHOAL_CHECKED;

#endif
