/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who computes how many grains: in proportion to measured speed, and whole grains. When that is to
 * change is cluster/balance's to say.
 *
 *     sh_shares_deal(shares, rates, seats, grains, false);
 *
 * A seat with c grains at r grains/s takes c / r; a step takes as long as the longest seat.
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

/* Seconds of the longest seat, and which it is; unknown rates are taken as above, 0 where all are
 * unknown. `seat` may be NULL. */
double sh_shares_longest(const sh_range *shares, const float *rates, uint32_t seats,
                         uint32_t *seat);

#endif
