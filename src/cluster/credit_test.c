/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/credit.h"

#include <math.h>

#include "base/test.h"
#include "plan/shares.h"

#define SEATS 4
#define GRAINS 48

typedef struct cluster {
    double rates[SEATS], claims[SEATS], network_s, noise;
    uint32_t seats;
    sh_credit credits[SEATS];
    sh_credit_steps all;
    sh_range shares[SEATS];
    uint64_t steps;
    uint32_t most; /* grains that seat 1 ever had */
} cluster;

static double step_s(const cluster *c, const sh_range *shares, double noise)
{
    double longest = 0;
    for (uint32_t i = 0; i < c->seats; i++)
        longest = fmax(longest, shares[i].count / c->rates[i]);
    return longest + c->network_s * (1 + noise * sin(1.7 * (double)c->steps));
}

static void go_on(cluster *c, uint32_t views)
{
    for (uint32_t v = 0; v < views; v++) {
        float believed[SEATS];
        sh_speed speeds[SEATS];
        sh_credit *credits[SEATS];
        for (uint32_t i = 0; i < c->seats; i++) {
            const float claimed =
                c->steps == 0 && i > 0 ? (float)c->claims[i] : (float)c->claims[i];
            credits[i] = &c->credits[i];
            believed[i] = i == 0 ? claimed : sh_credit_rate(credits[i], claimed, c->steps);
        }
        sh_shares_deal(c->shares, believed, c->seats, GRAINS, false);
        c->most = c->shares[1].count > c->most ? c->shares[1].count : c->most;
        c->steps += 2 * SH_CREDIT_STEPS;
        for (uint32_t i = 0; i < c->seats; i++)
            speeds[i] =
                (sh_speed){(float)c->claims[i], 0.01f, (float)step_s(c, c->shares, c->noise)};
        sh_credit_judge(&c->all, credits, c->shares, speeds, c->seats, c->steps);
    }
}

static void honest(cluster *c)
{
    for (uint32_t i = 0; i < c->seats; i++)
        c->claims[i] = c->rates[i];
}

static void a_liar_never_gets_all_and_soon_gets_its_due(void **state)
{
    (void)state;
    static const double networks[] = {0, 0.05, 20};
    for (uint32_t n = 0; n < 3; n++)
        for (uint32_t seats = 2; seats <= SEATS; seats++) {
            cluster c = {.rates = {10, 10, 10, 10}, .seats = seats, .network_s = networks[n]};
            static const float equal[SEATS] = {1, 1, 1, 1};
            sh_range even[SEATS];
            sh_shares_deal(even, equal, seats, GRAINS, false);
            honest(&c);
            c.claims[1] = 1e9;
            go_on(&c, 1);
            assert_int_equal(c.shares[1].count, GRAINS / seats);
            go_on(&c, 6);
            assert_true(c.most < GRAINS);
            for (uint32_t i = 0; i < 8; i++) {
                go_on(&c, 3);
                assert_true(step_s(&c, c.shares, 0) < 1.2 * step_s(&c, even, 0));
            }
        }
}

static void a_slow_liar_is_no_better_off(void **state)
{
    (void)state;
    cluster c = {.rates = {10, 2, 10}, .seats = 3, .network_s = 0.1};
    honest(&c);
    c.claims[1] = 1e9;
    go_on(&c, 30);
    assert_true(c.most < GRAINS);
    assert_true(c.shares[1].count <= GRAINS / 3 + 5);
}

static void the_honest_are_believed(void **state)
{
    (void)state;
    static const struct {
        double rates[SEATS];
        uint32_t seats;
        double network_s, noise;
        uint32_t views;
    } cases[] = {
        {{10, 20, 5, 10}, 4, 0, 0, 2},
        {{10, 20, 5, 10}, 4, 5, 0.2, 2},
        {{1, 16}, 2, 0, 0, 3},
        {{1, 40}, 2, 0.01, 0, 5},
        {{40, 1}, 2, 0, 0, 2},
        {{1, 40, 40, 1}, 4, 0, 0, 5},
        {{10, 10, 10, 10}, 4, 0.3, 0.3, 2},
        {{1, 1000, 3, 30}, 4, 0, 0, 7},
        {{1, 5, 9, 2}, 4, 100, 0.2, 4},
        {{1, 5, 9, 2}, 4, 10, 0.1, 4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        cluster c = {
            .seats = cases[k].seats, .network_s = cases[k].network_s, .noise = cases[k].noise};
        float rates[SEATS];
        sh_range wanted[SEATS];
        for (uint32_t i = 0; i < c.seats; i++) {
            c.rates[i] = cases[k].rates[i];
            rates[i] = (float)c.rates[i];
        }
        honest(&c);
        sh_shares_deal(wanted, rates, c.seats, GRAINS, false);
        go_on(&c, cases[k].views);
        for (int v = 0; v < 10; v++) {
            go_on(&c, 1);
            if (step_s(&c, c.shares, 0) > 1.03 * step_s(&c, wanted, 0))
                fail_msg("case %zu, view %d: a step takes %g s, not %g s", k, v,
                         step_s(&c, c.shares, 0), step_s(&c, wanted, 0));
        }
    }
}

static void without_device_0_nothing_is_judged(void **state)
{
    (void)state;
    sh_credit one = {0}, other = {0};
    sh_credit *credits[] = {&one, &other};
    sh_credit_steps all = {0};
    const sh_range shares[] = {{0, 4}, {4, 4}};
    const sh_speed speeds[] = {{10, 0, 0}, {1e9f, 0, 1e-9f}};
    sh_credit_judge(&all, credits, shares, speeds, 2, 100);
    assert_true(other.shown == 0);
    assert_true(sh_credit_rate(&other, 1e9f, 100) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_liar_never_gets_all_and_soon_gets_its_due),
        cmocka_unit_test(a_slow_liar_is_no_better_off),
        cmocka_unit_test(the_honest_are_believed),
        cmocka_unit_test(without_device_0_nothing_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
