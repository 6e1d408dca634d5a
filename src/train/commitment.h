/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a part of an exact sum: what a device commits to in an audit (train/audited_step.h).
 * It covers all sums over grains, in the accumulator and in the trailer, but not what a device adds
 * for itself (train/sum_check.h).
 *
 *     const sh_sum_block own = sh_sum_own(sum);
 *     const sh_sum_check check = sh_commitment_of(sum, &own, key);
 *
 * Threads: the caller excludes additions to the sum.
 */
#ifndef SHOAL_TRAIN_COMMITMENT_H
#define SHOAL_TRAIN_COMMITMENT_H

#include "train/exact_sum.h"
#include "train/sum_check.h"

/* `block`: the own part or the total. */
sh_sum_check sh_commitment_of(const sh_sum *sum, const sh_sum_block *block, uint32_t key);

/* For tests: changes a bit of the last integer of the own part. */
void sh_commitment_falsify(sh_sum *sum);

#endif
