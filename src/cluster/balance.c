/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gain of new shares is (now - then) / step: the longest seat's time with the current and the
 * new shares, and the time of a whole step, which is longer if the network limits it.
 *
 * The uncertainty of a gain comes from the errors of its two seats. Among N equally fast seats the
 * slowest appears slower by about sqrt(2 ln N) errors, the largest of N normal deviates; so a gain
 * must be DOUBTS + sqrt(2 ln N) errors.
 *
 * Errors persist over the steps of an estimate, and among some hundred estimates one exceeds any
 * threshold, so only the excess over the requirement accumulates. A gain of SURE times the
 * requirement counts in full, so that a real change of speed acts at once.
 */
#include "cluster/balance.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "cluster/directive.h"

#define DOUBTS 1.0
#define SURE 2.0      /* times the requirement */
#define PASSED_MAX 16 /* most steps that one assessment counts for */

typedef struct gain {
    double now_s, then_s, step_s;
    double share, doubt; /* fractions of the step */
    uint32_t last;       /* seat */
} gain;

/* False: a seat with grains has no known rate yet. */
static bool predict(gain *found, const sh_balance *balance, const sh_range *shares,
                    const sh_speed *speeds, uint32_t seats, uint32_t grains)
{
    sh_range better[SH_DEVICES_MAX];
    float rates[SH_DEVICES_MAX];
    uint32_t last = 0;
    assert(seats > 0 && seats <= SH_DEVICES_MAX);
    for (uint32_t i = 0; i < seats; i++) {
        rates[i] = speeds[i].rate;
        if (shares[i].count > 0 && !(rates[i] > 0))
            return false;
    }
    sh_shares_deal(better, rates, seats, grains, balance->spare);
    found->now_s = sh_shares_longest(shares, rates, seats, &found->last);
    found->then_s = sh_shares_longest(better, rates, seats, &last);
    found->step_s = fmax(found->now_s, (double)speeds[0].step_s);
    if (!(found->now_s > 0))
        return false;
    const double doubt_now = found->now_s * (double)speeds[found->last].error;
    const double doubt_then = found->then_s * (double)speeds[last].error;
    found->share = (found->now_s - found->then_s) / found->step_s;
    found->doubt = sqrt(doubt_now * doubt_now + doubt_then * doubt_then) / found->step_s;
    return true;
}

/* Compares the last change with its prediction after SH_BALANCE_TRIAL steps. */
static void judge(sh_balance *balance, double step_s, uint64_t passed, uint64_t steps)
{
    balance->mistrust *= exp2(-(double)passed / SH_BALANCE_MEMORY);
    balance->price = fmax(balance->price, SH_BALANCE_PRICE);
    if (balance->before_s > 0 && step_s > 0 && steps >= balance->changed + SH_BALANCE_TRIAL) {
        const double promised = balance->before_s - balance->promised_s;
        const double missing = step_s - balance->promised_s;
        if (missing > promised / 2) /* less may be noise */
            balance->mistrust = fmax(balance->mistrust, missing / balance->before_s);
        balance->before_s = 0;
    }
    if (balance->changed > 0 && steps >= balance->changed + SH_BALANCE_CALM) {
        balance->price = fmax(balance->price / 2, SH_BALANCE_PRICE);
        balance->changed = balance->price > SH_BALANCE_PRICE ? steps : 0;
    }
}

bool sh_balance_assess(sh_balance *balance, const sh_range *shares, const sh_speed *speeds,
                       uint32_t seats, uint32_t grains, uint64_t steps, char *reason,
                       size_t reason_bytes)
{
    gain found;
    const uint64_t passed = steps - balance->assessed;
    if (steps <= balance->assessed)
        return false;
    balance->assessed = steps;
    judge(balance, (double)speeds[0].step_s, passed, steps);
    if (!predict(&found, balance, shares, speeds, seats, grains)) {
        balance->lost = 0;
        return false;
    }
    const double doubts = (DOUBTS + sqrt(2 * log(seats))) * found.doubt;
    const double need = fmax(fmax(SH_BALANCE_GAIN, 2 * balance->mistrust), doubts);
    const double loss = found.share < SURE * need ? found.share - need : found.share;
    const double counted = (double)(passed < PASSED_MAX ? passed : PASSED_MAX);
    balance->lost = fmax(0, balance->lost + loss * counted);
    if (loss < 0 || balance->lost < balance->price)
        return false;

    if (balance->changed > 0)
        balance->price = fmin(2 * balance->price, SH_BALANCE_PRICE_MAX);
    balance->lost = 0;
    balance->changed = steps;
    balance->before_s = found.step_s;
    balance->promised_s = found.step_s - found.now_s + found.then_s;
    balance->last = found.last;
    snprintf(reason, reason_bytes,
             "%u grains at %.3g a second take %.1f ms; a step changes from %.1f ms to %.1f ms",
             shares[found.last].count, (double)speeds[found.last].rate, 1e3 * found.now_s,
             1e3 * found.step_s, 1e3 * balance->promised_s);
    return true;
}

void sh_balance_restart(sh_balance *balance)
{
    balance->lost = 0;
    balance->before_s = 0;
}
