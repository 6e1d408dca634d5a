/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deals whole grains to devices in proportion to their measured speed. cluster/balance decides
 * when.
 *
 * A seat with c grains at r grains/s takes c / r seconds; a step takes as long as the slowest seat.
 *
 *     sh_shares_deal(shares, rates, seats, grains, false);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLUSTER_SHARES_H
#define SHOAL_CLUSTER_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/schedule.h"

#define SH_DEVICES_MAX 256 /* of a job at a time */

/*
 * Deals the shares with the shortest step among those within one grain of the proportional ones;
 * with equal rates, the first seats get the remainder. Shares are consecutive. `rates` in grains/s:
 * 0, negative or not finite is unknown and counts as the mean of known rates. With `spare`, a seat
 * gets no grain if the step is shorter without it. seats > 0.
 */
void sh_shares_deal(sh_range *shares, const float *rates, uint32_t seats, uint32_t grains,
                    bool spare);

/* Unknown rates become the mean of the known ones, or 1 if all are unknown. */
void sh_shares_fill_rates(double *filled, const float *rates, uint32_t seats);

/* Seconds of the slowest seat, and its index; 0 if all rates are unknown. `seat` may be NULL. */
double sh_shares_longest(const sh_range *shares, const float *rates, uint32_t seats,
                         uint32_t *seat);

#endif
