/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who computes how many grains: in proportion to measured speed, whole grains, and changed only
 * when that pays.
 *
 *     sh_shares_deal(shares, rates, seats, grains, false);
 *     if (sh_balance_assess(&balance, shares, rates, seats, grains, reason, sizeof reason))
 *         ... a view with new shares ...
 *
 * A seat with c grains at r grains/s takes c / r; a step takes as long as the longest seat, and
 * `fixed_s` besides that shares do not change.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLUSTER_SHARES_H
#define SHOAL_CLUSTER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/schedule.h"

/*
 * Of all shares that lie within one grain of the proportional ones, those whose longest seat is the
 * shortest; equal rates give what is left to the first seats. Seats follow each other without gaps.
 * `rates` in grains/s: 0, negative or not finite is unknown and takes the mean of the known ones.
 * With `spare`, a seat is left without a grain where any would make the step longer than the others
 * take for it. seats > 0.
 */
void sh_shares_deal(sh_range *shares, const float *rates, uint32_t seats, uint32_t grains,
                    bool spare);

/* Seconds of the longest seat, unknown rates taken as above; 0 where all are unknown. */
double sh_shares_longest(const sh_range *shares, const float *rates, uint32_t seats);

/* A step is assessed as often as it is passed. Zeroed to begin with, and for each new view. */
typedef struct sh_balance {
    double fixed_s; /* of a step, beside the longest seat: 0 where not known */
    bool spare;     /* as sh_shares_deal has it */
    uint32_t gains; /* assessments in a row that found a gain */
} sh_balance;

#define SH_BALANCE_GAIN 0.1      /* of the step's time, at least */
#define SH_BALANCE_ASSESSMENTS 3 /* in a row */

/*
 * Whether a change to what sh_shares_deal would give pays: a gain of at least SH_BALANCE_GAIN,
 * predicted in SH_BALANCE_ASSESSMENTS assessments in a row. Then `reason` says why, in a few words.
 */
bool sh_balance_assess(sh_balance *balance, const sh_range *shares, const float *rates,
                       uint32_t seats, uint32_t grains, char *reason, size_t reason_bytes);

#endif
