/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sufficient factors: the gradient of a dense layer's weights, [O, K], is dy^T x of [N, O] and
 * [N, K]. Where these are far fewer bytes, devices gather each other's instead of adding the
 * gradient up, and each computes the terms of all grains (Zhang et al., "Poseidon", 2017): by the
 * same instruction as the grain's own device, so the same integers, and the same sum.
 *
 *     SH_TRY(sh_factors_new(&factors, replica, samples, grain));       // NULL: not for this job
 *     const size_t record = sh_factors_open(factors, grain, samples);  // a grain begins
 *     sh_factors_take(factors, record, samples, place, execution);     // in its sink
 *     ... an engine gathers sh_factors_begin's span; as words come: ...
 *     SH_TRY(sh_factors_read(factors, &batch, held, words, &count));
 *     for each grain since then: SH_TRY(sh_factors_complete(factors, index, sum, execution));
 *
 * The bounds, checks and counts of the trailer are those of the own parts, as ever. The own part of
 * the sum has its grains too, so that a stage may be gone on with in any other way.
 *
 * Threads: open, take and complete from any lane at once; the rest: caller locks.
 */
#ifndef SHOAL_TRAIN_FACTORS_H
#define SHOAL_TRAIN_FACTORS_H

#include "backend/program.h"
#include "base/ranges.h"
#include "reduce/engine.h"
#include "train/replica.h"
#include "train/schedule.h"

typedef struct sh_factors sh_factors;

/* Whether that is faster for a gradient [O, K] of a batch, whatever the number of devices; all of
 * them come to the same answer. `wire`: bits of a summed element. */
bool sh_factors_pay(size_t O, size_t K, uint32_t samples, uint32_t wire);

/*
 * For batches of at most `samples` in grains of `grain`. NULL where no tensor is to be had this
 * way: one that is the first of its bucket, so that the others stay one span. Owned.
 */
sh_status sh_factors_new(sh_factors **factors, const sh_replica *replica, uint32_t samples,
                         uint32_t grain) SHOAL_CHECKED;
void sh_factors_free(sh_factors *factors); /* NULL is fine */

/* Bytes of all records of a full batch. */
uint64_t sh_factors_record_bytes(const sh_factors *factors);

/* Allocates their memory, once: so many bytes. NULL is fine. */
sh_status sh_factors_share(sh_factors *factors) SHOAL_CHECKED;
uint64_t sh_factors_bytes(const sh_factors *factors);

/* Whether this program, of a grain of `samples`, has all the products that are wanted of it. */
bool sh_factors_fit(const sh_factors *factors, const sh_execution *execution, uint32_t samples);

/* Whether the tensor in this place of the sum is one of them; NULL has none. */
bool sh_factors_has(const sh_factors *factors, uint32_t place);
uint32_t sh_factors_count(const sh_factors *factors);

/* Forgets all records, as the own part of the sum is cleared. */
void sh_factors_clear(sh_factors *factors);

/* A record for a grain. */
size_t sh_factors_open(sh_factors *factors, uint32_t grain, uint32_t samples);
void sh_factors_take(sh_factors *factors, size_t record, uint32_t samples, uint32_t place,
                     const sh_execution *execution);

/* What to gather in a stage: the records that there are, and those of the grains to compute. */
sh_span sh_factors_begin(sh_factors *factors, const sh_batch *batch, const sh_ranges *todo);

/* Finds the records of the others in the first so many words of what is gathered: `count` of them
 * so far. SH_FORMAT: not each is whole and of a grain of the batch that `held` has not, once. */
sh_status sh_factors_read(sh_factors *factors, const sh_batch *batch, const sh_ranges *held,
                          size_t words, uint32_t *count) SHOAL_CHECKED;

/* Number `index` of them: its samples, which the execution is to be for; adds its terms to the
 * total. */
uint32_t sh_factors_samples(const sh_factors *factors, const sh_batch *batch, uint32_t index);
sh_status sh_factors_complete(const sh_factors *factors, uint32_t index, sh_sum *sum,
                              sh_execution *execution) SHOAL_CHECKED;

#endif
