/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who computes how many grains: whole ones, in proportion to measured speed. cluster/balance says
 * when that changes.
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

#define SH_DEVICES_MAX 256 /* of a job at one time */

/*
 * Of all shares within one grain of the proportional ones, those whose longest seat is the
 * shortest; with equal rates the first seats get what is left. Seats follow each other without
 * gaps. `rates` in grains/s: 0, negative or not finite is unknown and counts as the mean of the
 * known ones. With `spare`, a seat gets no grain if the step is shorter without it. seats > 0.
 */
void sh_shares_deal(sh_range *shares, const float *rates, uint32_t seats, uint32_t grains,
                    bool spare);

/* Rates as they count: those that are not known are the mean of the known ones, 1 where none is. */
void sh_shares_fill_rates(double *filled, const float *rates, uint32_t seats);

/* Seconds of the longest seat, and which it is; 0 if all rates are unknown. `seat` may be NULL. */
double sh_shares_longest(const sh_range *shares, const float *rates, uint32_t seats,
                         uint32_t *seat);

#endif
