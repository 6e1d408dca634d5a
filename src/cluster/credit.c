/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step consists of its longest seat's time, c / r by the claims, and a rest; the recent minimum
 * of the rest is the network's part. If a device's share has grown because of its claim, and the
 * excess over this minimum is a substantial part of the step and of the explained time, the claim
 * is refuted. The device's known speed is then what it delivered: c grains in the step without the
 * network's part, or, if more, the grains added to its share in the excess.
 *
 * While shares are a small part of the step, they prove and matter little: the limit is then
 * SH_CREDIT_HOPE times device 0's speed.
 *
 * If the network becomes slow just when a share has grown, a true claim is refuted too, and the
 * device loses some grains for a while.
 */
#include "cluster/credit.h"

#include <math.h>

#define RAISED 1.05       /* growth of a known speed that counts */
#define OF_STEP 0.25      /* least excess that counts, of a step */
#define LITTLE 0.125      /* of a step: shares matter little */
#define OF_SHARES 0.5     /* likewise, of the explained time */
#define SLACK 1.1         /* factor on the known speed of a doubted device */
#define SLOWLY (1 / 16.0) /* part of a small excess by which the network's part grows */

static bool is_doubted(const sh_credit *credit, uint64_t steps)
{
    return credit->until > steps;
}

static bool is_amount(float number)
{
    return isfinite(number) && number > 0;
}

/* The longest seat's time by the claims. */
static double explained(const sh_range *shares, const sh_speed *speeds, uint32_t seats)
{
    double longest = 0;
    for (uint32_t i = 0; i < seats; i++)
        if (is_amount(speeds[i].rate))
            longest = fmax(longest, shares[i].count / (double)speeds[i].rate);
    return longest;
}

uint32_t sh_credit_judge(sh_credit_steps *all, sh_credit *const *credits, const sh_range *shares,
                         const sh_speed *speeds, uint32_t seats, uint64_t steps)
{
    if (!is_amount(speeds[0].step_s) || !is_amount(speeds[0].rate))
        return 0;
    const double step_s = (double)speeds[0].step_s, rate = (double)speeds[0].rate;
    const double longest_s = explained(shares, speeds, seats);
    const double rest_s = fmax(step_s - longest_s, 0);
    const double excess_s = all->known ? rest_s - all->rest_s : 0;
    const bool counts = excess_s > fmax(OF_STEP * step_s, OF_SHARES * longest_s);
    uint32_t worst = 0;
    if (!all->known || rest_s < all->rest_s)
        *all = (sh_credit_steps){true, rest_s};

    for (uint32_t i = 1; i < seats; i++) {
        sh_credit *credit = credits[i];
        const uint32_t share = shares[i].count;
        credit->most = longest_s < LITTLE * step_s ? SH_CREDIT_HOPE * rate : 0;
        const double beside = shares[0].count > 0 ? rate * share / shares[0].count : share / step_s;
        const bool raised =
            credit->shown > 0 && share > credit->share && beside > RAISED * credit->shown;
        if (raised && counts && !is_doubted(credit, steps)) {
            credit->shown =
                fmax(share / (step_s - all->rest_s), (share - credit->share) / excess_s);
            credit->until = steps + SH_CREDIT_MEMORY;
            worst = worst == 0 || share > shares[worst].count ? i : worst;
        } else if (share > 0 && !is_doubted(credit, steps)) {
            credit->shown = beside;
        }
        credit->share = share;
    }
    if (worst == 0 && excess_s > 0 && !counts) /* the network may have changed */
        all->rest_s += SLOWLY * excess_s;
    return worst;
}

float sh_credit_rate(const sh_credit *credit, float claimed, uint64_t steps)
{
    double most = (is_doubted(credit, steps) ? SLACK : SH_CREDIT_HOPE) * credit->shown;
    if (credit->most > 0 && credit->most < most)
        most = credit->most;
    return (double)claimed < most ? claimed : (float)most;
}
