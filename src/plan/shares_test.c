/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/shares.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

static void shares_follow_the_rates(void **state)
{
    (void)state;
    static const struct {
        uint32_t seats, grains;
        float rates[4];
        bool spare;
        uint32_t counts[4];
    } cases[] = {
        {1, 7, {0}, false, {7}},
        {3, 8, {0, 0, 0}, false, {3, 3, 2}},
        {4, 35, {100, 100, 100, 50}, false, {10, 10, 10, 5}},
        {2, 8, {3, 1}, false, {6, 2}},
        {3, 9, {2, 0, 4}, false, {2, 3, 4}}, /* unknown: the mean */
        {3, 9, {NAN, -1, INFINITY}, false, {3, 3, 3}},
        {2, 1, {1, 4}, false, {0, 1}},         /* the faster gets the only grain */
        {3, 4, {10, 10, 1}, false, {2, 2, 0}}, /* the third would be last */
        {3, 0, {1, 2, 3}, false, {0, 0, 0}},
        {3, 40, {10, 10, 0.4f}, false, {20, 20, 0}},
        {3, 44, {10, 10, 0.5f}, false, {22, 21, 1}}, /* within one grain */
        {3, 44, {10, 10, 0.4f}, true, {22, 22, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_range shares[4];
        uint32_t first = 0;
        sh_shares_deal(shares, cases[i].rates, cases[i].seats, cases[i].grains, cases[i].spare);
        for (uint32_t j = 0; j < cases[i].seats; j++) {
            if (shares[j].count != cases[i].counts[j] || shares[j].first != first)
                fail_msg("case %zu seat %u: %u from %u", i, j, shares[j].count, shares[j].first);
            first += shares[j].count;
        }
    }
}

/* The minimum longest seat of all shares within one grain of the proportional ones. */
static double try_all(const float *rates, uint32_t seats, uint32_t grains, double sum)
{
    double best = INFINITY;
    for (uint32_t more = 0; more < 1u << seats; more++) {
        double longest = 0;
        uint32_t total = 0;
        for (uint32_t i = 0; i < seats; i++) {
            const double part = (double)rates[i] * grains / sum;
            const uint32_t count = (uint32_t)part + (more >> i & 1);
            total += count;
            longest = fmax(longest, count / (double)rates[i]);
        }
        if (total == grains)
            best = fmin(best, longest);
    }
    return best;
}

static void no_other_shares_are_better(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 2000; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0);
        const uint32_t seats = 1 + sh_random_below(&random, 6);
        const uint32_t grains = sh_random_below(&random, 60);
        float rates[6];
        double sum = 0;
        sh_range shares[6];
        for (uint32_t i = 0; i < seats; i++) {
            rates[i] = 0.1f + 10 * sh_random_unit(&random);
            sum += (double)rates[i];
        }
        sh_shares_deal(shares, rates, seats, grains, false);
        uint32_t total = 0;
        for (uint32_t i = 0; i < seats; i++) {
            assert_true(fabs(shares[i].count - (double)rates[i] * grains / sum) < 1 + 1e-9);
            total += shares[i].count;
        }
        assert_int_equal(total, grains);
        const double best = try_all(rates, seats, grains, sum);
        assert_true(sh_shares_longest(shares, rates, seats, NULL) <= best * (1 + 1e-9));
    }
}

static void spare_never_makes_it_longer(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 2000; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 1, 0);
        const uint32_t seats = 1 + sh_random_below(&random, 6);
        const uint32_t grains = sh_random_below(&random, 30);
        float rates[6];
        sh_range all[6], some[6];
        for (uint32_t i = 0; i < seats; i++)
            rates[i] = 0.01f + 10 * sh_random_unit(&random);
        sh_shares_deal(all, rates, seats, grains, false);
        sh_shares_deal(some, rates, seats, grains, true);
        assert_true(sh_shares_longest(some, rates, seats, NULL) <=
                    sh_shares_longest(all, rates, seats, NULL));
        uint32_t total = 0;
        for (uint32_t i = 0; i < seats; i++)
            total += some[i].count;
        assert_int_equal(total, grains);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_the_rates),
        cmocka_unit_test(no_other_shares_are_better),
        cmocka_unit_test(spare_never_makes_it_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
