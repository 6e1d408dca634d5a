/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proportional share of a seat is p[i] = grains * r[i] / sum of r. Each seat gets floor(p[i])
 * grains, and k of them one of the k remaining grains each. A seat with one more grain takes
 * (floor(p[i]) + 1) / r[i], so choosing the k smallest minimises the longest seat.
 */
#include "plan/shares.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_known(float rate)
{
    return isfinite(rate) && rate > 0;
}

void sh_shares_fill_rates(double *filled, const float *rates, uint32_t seats)
{
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t i = 0; i < seats; i++)
        if (is_known(rates[i])) {
            sum += (double)rates[i];
            known++;
        }
    const double mean = known > 0 ? sum / known : 1;
    for (uint32_t i = 0; i < seats; i++)
        filled[i] = is_known(rates[i]) ? (double)rates[i] : mean;
}

/* Seats with rate 0 get nothing; at least one rate is not 0. */
static void deal(uint32_t *counts, const double *rates, uint32_t seats, uint32_t grains)
{
    bool given[SH_DEVICES_MAX] = {false};
    double sum = 0;
    uint32_t left = grains;
    for (uint32_t i = 0; i < seats; i++)
        sum += rates[i];
    for (uint32_t i = 0; i < seats; i++) {
        double part = floor((double)grains * (rates[i] / sum));
        part = part < left ? part : left; /* limits rounding errors */
        counts[i] = (uint32_t)part;
        left -= counts[i];
    }
    while (left > 0) {
        uint32_t best = seats;
        for (uint32_t i = 0; i < seats; i++)
            if (!given[i] && rates[i] > 0 &&
                (best == seats || (counts[i] + 1) / rates[i] < (counts[best] + 1) / rates[best]))
                best = i;
        if (best == seats) { /* rounding left more grains than seats */
            memset(given, 0, sizeof given);
            continue;
        }
        given[best] = true;
        counts[best]++;
        left--;
    }
}

static double longest(const uint32_t *counts, const double *rates, uint32_t seats, uint32_t *which)
{
    double most = 0;
    for (uint32_t i = 0; i < seats; i++)
        if (counts[i] > 0 && counts[i] / rates[i] > most) {
            most = counts[i] / rates[i];
            *which = i;
        }
    return most;
}

/* Removes seats, one after another, that only delay the step. */
static void leave_out(uint32_t *counts, double *rates, uint32_t seats, uint32_t grains)
{
    uint32_t without[SH_DEVICES_MAX];
    uint32_t slowest = 0, present = seats;
    while (present > 1) {
        const double now = longest(counts, rates, seats, &slowest);
        const double rate = rates[slowest];
        uint32_t other = 0;
        rates[slowest] = 0;
        deal(without, rates, seats, grains);
        if (longest(without, rates, seats, &other) >= now) {
            rates[slowest] = rate;
            return;
        }
        memcpy(counts, without, seats * sizeof *counts);
        present--;
    }
}

void sh_shares_deal(sh_range *shares, const float *rates, uint32_t seats, uint32_t grains,
                    bool spare)
{
    double filled[SH_DEVICES_MAX] = {0};
    uint32_t counts[SH_DEVICES_MAX];
    assert(seats > 0 && seats <= SH_DEVICES_MAX);
    sh_shares_fill_rates(filled, rates, seats);
    deal(counts, filled, seats, grains);
    if (spare)
        leave_out(counts, filled, seats, grains);
    uint32_t first = 0;
    for (uint32_t i = 0; i < seats; i++) {
        shares[i] = (sh_range){first, counts[i]};
        first += counts[i];
    }
}

double sh_shares_longest(const sh_range *shares, const float *rates, uint32_t seats, uint32_t *seat)
{
    double filled[SH_DEVICES_MAX] = {0};
    uint32_t counts[SH_DEVICES_MAX], which = 0;
    bool known = false;
    assert(seats <= SH_DEVICES_MAX);
    for (uint32_t i = 0; i < seats; i++) {
        counts[i] = shares[i].count;
        known = known || is_known(rates[i]);
    }
    if (!known)
        return 0;
    sh_shares_fill_rates(filled, rates, seats);
    const double seconds = longest(counts, filled, seats, &which);
    if (seat != NULL)
        *seat = which;
    return seconds;
}
