/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices with random noise around one balance. New shares apply LATE steps after the decision.
 */
#include "cluster/balance.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

#define SEATS 4
#define LATE 2
#define CALM_STEPS 500
#define LASTING 5
#define SETTLING 200

typedef struct cluster {
    uint32_t grains;
    double jitter, outliers; /* deviation of a step's time; part of steps that take twice */
    double lasting;          /* deviation of noise of about LASTING steps */
    double fixed_s;
    double speed[SEATS];  /* grains/s */
    double slower[SEATS]; /* lasting noise */
    sh_random random;
    sh_pace pace[SEATS];
    sh_range shares[SEATS], next[SEATS];
    sh_balance balance;
    uint32_t waiting, changes;
    uint64_t steps;
    double seconds;
    char reason[128];
} cluster;

static cluster cluster_of(uint32_t seed, uint32_t grains, double jitter, double outliers)
{
    cluster made = {
        .grains = grains,
        .jitter = jitter,
        .outliers = outliers,
        .speed = {10, 10, 10, 10},
        .random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0),
    };
    sh_shares_deal(made.shares, (float[SEATS]){0}, SEATS, grains, false);
    return made;
}

/* Mean 0, deviation 1. */
static double normal(cluster *c)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)sh_random_unit(&c->random);
    return sum;
}

static double noise(cluster *c, uint32_t seat)
{
    if (c->lasting > 0 && (double)sh_random_unit(&c->random) < 1.0 / LASTING)
        c->slower[seat] = c->lasting * normal(c);
    return fmax(0.5, 1 + c->jitter * normal(c) + c->slower[seat]) *
           ((double)sh_random_unit(&c->random) < c->outliers ? 2 : 1);
}

static void assess(cluster *c)
{
    sh_speed speeds[SEATS];
    float rates[SEATS];
    for (uint32_t i = 0; i < SEATS; i++) {
        speeds[i] = sh_pace_speed(&c->pace[i], 1);
        rates[i] = speeds[i].rate;
    }
    if (!sh_balance_assess(&c->balance, c->shares, speeds, SEATS, c->grains, c->steps, c->reason,
                           sizeof c->reason))
        return;
    sh_shares_deal(c->next, rates, SEATS, c->grains, false);
    c->changes++;
    c->waiting = LATE;
}

static void step(cluster *c)
{
    double longest = 0;
    for (uint32_t i = 0; i < SEATS; i++) {
        const double seconds = c->shares[i].count / c->speed[i] * noise(c, i);
        sh_pace_note_grains(&c->pace[i], c->shares[i].count, seconds);
        longest = fmax(longest, seconds);
    }
    for (uint32_t i = 0; i < SEATS; i++)
        sh_pace_note_step(&c->pace[i], longest + c->fixed_s);
    c->seconds += longest;
    c->steps++;
    if (c->waiting == 0)
        assess(c);
    else if (--c->waiting == 0)
        memcpy(c->shares, c->next, sizeof c->shares);
}

static void run(cluster *c, uint32_t steps)
{
    for (; steps > 0; steps--)
        step(c);
}

/* Throughput without noise, as a fraction of the sum of speeds. */
static double reached(const cluster *c)
{
    float rates[SEATS];
    double sum = 0;
    for (uint32_t i = 0; i < SEATS; i++) {
        rates[i] = (float)c->speed[i];
        sum += c->speed[i];
    }
    return c->grains / sh_shares_longest(c->shares, rates, SEATS, NULL) / sum;
}

static double best_reached(const cluster *c)
{
    cluster best = *c;
    float rates[SEATS];
    for (uint32_t i = 0; i < SEATS; i++)
        rates[i] = (float)c->speed[i];
    sh_shares_deal(best.shares, rates, SEATS, c->grains, false);
    return reached(&best);
}

typedef struct setting {
    uint32_t grains;
    double jitter, outliers;
} setting;

static const setting settings[] = {
    {8, 0.03, 0.02},  {16, 0.01, 0},   {16, 0.05, 0.05},  {16, 0.1, 0.05},
    {64, 0.03, 0.05}, {64, 0.1, 0.05}, {256, 0.03, 0.05},
};
#define SETTINGS (sizeof settings / sizeof *settings)
#define SEEDS 3

static cluster cluster_in(const setting *s, uint32_t seed)
{
    return cluster_of(seed, s->grains, s->jitter, s->outliers);
}

static void quiet_steps_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETTINGS; i++)
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            cluster c = cluster_in(&settings[i], seed);
            run(&c, CALM_STEPS);
            if (c.changes != 0)
                fail_msg("setting %zu seed %u: %u changes, %s", i, seed, c.changes, c.reason);
        }
}

static void noise_that_lasts_changes_little(void **state)
{
    (void)state;
    uint32_t changes = 0;
    double part = 0;
    enum { RUNS = 40 };
    for (uint32_t seed = 0; seed < RUNS; seed++) {
        cluster c = cluster_of(seed, 64, 0.08, 0.02);
        c.lasting = 0.08;
        c.speed[3] = 5;
        run(&c, 30);
        changes -= c.changes;
        run(&c, CALM_STEPS);
        changes += c.changes;
        part += reached(&c) / RUNS;
    }
    if (changes > RUNS / 2 || part < 0.93)
        fail_msg("%u changes in %d runs, %g of the sum", changes, RUNS, part);
}

static void unequal_devices_reach_their_sum(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETTINGS; i++)
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            cluster c = cluster_in(&settings[i], seed);
            c.speed[3] = 5;
            assert_true(reached(&c) < 0.58);
            run(&c, SETTLING);
            const double settled = reached(&c);
            if (settled < fmin(0.95, best_reached(&c)))
                fail_msg("setting %zu seed %u: %g of the sum", i, seed, settled);
            const uint32_t before = c.changes;
            run(&c, CALM_STEPS);
            if (before > 2 || (c.changes > before && reached(&c) < settled + 0.01))
                fail_msg("setting %zu seed %u: %u changes, then %u: %s", i, seed, before,
                         c.changes - before, c.reason);
        }
}

static void a_slowed_device_is_balanced_within_ten_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETTINGS; i++)
        for (uint32_t seed = 0; seed < SEEDS; seed++) {
            cluster c = cluster_in(&settings[i], seed);
            run(&c, 80);
            c.speed[1] = 5;
            run(&c, 10);
            if (settings[i].jitter < 0.1 && reached(&c) < best_reached(&c) / 1.1)
                fail_msg("setting %zu seed %u: %g after ten steps", i, seed, reached(&c));
            run(&c, 40);
            if (reached(&c) < best_reached(&c) / 1.1)
                fail_msg("setting %zu seed %u: %g after fifty steps", i, seed, reached(&c));
            c.speed[1] = 10;
            run(&c, 60);
            if (reached(&c) < best_reached(&c) / 1.1)
                fail_msg("setting %zu seed %u: %g when it is fast again", i, seed, reached(&c));
        }
}

static void a_device_without_grains_is_tried_again(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        cluster c = cluster_of(seed, 16, 0.03, 0.02);
        run(&c, 20);
        c.speed[2] = 0.8;
        run(&c, 30);
        assert_int_equal(c.shares[2].count, 0);
        const double since = c.seconds, best = 16 / best_reached(&c) / 30.8;
        run(&c, 2000);
        if (c.seconds - since > 1.08 * 2000 * best)
            fail_msg("seed %u: %g of the best", seed, (c.seconds - since) / (2000 * best));
        c.speed[2] = 10;
        run(&c, 2000);
        if (reached(&c) < best_reached(&c))
            fail_msg("seed %u: %g when it is fast again", seed, reached(&c));
    }
}

static void what_does_not_last_is_left_alone(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        cluster c = cluster_of(seed, 64, 0.03, 0), still = c;
        for (uint32_t i = 0; i < 1000; i++) {
            c.speed[i / 30 % SEATS] = still.speed[i / 30 % SEATS] = i % 30 < 8 ? 5 : 10;
            step(&c);
            step(&still);
            still.waiting = 0;
        }
        if (c.changes > 14)
            fail_msg("seed %u: %u changes", seed, c.changes);
        if (c.seconds > 1.08 * still.seconds)
            fail_msg("seed %u: %g s, %g s without a change", seed, c.seconds, still.seconds);
    }
}

/* Shares do not change the network's part of a step. */
static void a_gain_is_one_of_the_whole_step(void **state)
{
    (void)state;
    cluster c = cluster_of(0, 64, 0.01, 0);
    c.speed[3] = 9;
    c.fixed_s = 9;
    run(&c, 200);
    assert_int_equal(c.changes, 0);
    c.fixed_s = 0;
    run(&c, 200);
    assert_int_equal(c.changes, 1);
}

typedef struct told {
    sh_balance balance;
    sh_range shares[2];
    sh_speed speeds[2];
    uint64_t steps;
    char reason[128];
} told;

static told two_devices(float rate, float error)
{
    return (told){.shares = {{0, 20}, {20, 20}}, .speeds = {{10, error, 0}, {rate, error, 0}}};
}

static bool ask(told *t, uint64_t passed)
{
    t->steps += passed;
    return sh_balance_assess(&t->balance, t->shares, t->speeds, 2, 40, t->steps, t->reason,
                             sizeof t->reason);
}

static void a_change_comes_when_it_has_been_paid_for(void **state)
{
    (void)state;
    told half = two_devices(5, 0.01f); /* 4 s become 2.7 s: a third of each step */
    assert_false(ask(&half, 1));
    assert_false(ask(&half, 0));
    assert_false(ask(&half, 1));
    assert_true(ask(&half, 1));
    assert_string_equal(
        half.reason,
        "20 grains at 5 a second take 4000.0 ms; a step changes from 4000.0 ms to 2700.0 ms");
    assert_int_equal(half.balance.last, 1);
    told seldom = two_devices(5, 0.01f);
    assert_true(ask(&seldom, 3));
    told unsure = two_devices(5, 0.2f);
    for (int i = 0; i < 100; i++)
        assert_false(ask(&unsure, 1));
    told unknown = two_devices(0, 0.01f);
    unknown.shares[0].count = unknown.shares[1].first = 30;
    unknown.shares[1].count = 10;
    for (int i = 0; i < 100; i++)
        assert_false(ask(&unknown, 1));
}

/* Whether shares change within 400 steps if a device is slow in one of `steps` steps. */
static bool changes_when_slow_in_one_of(uint32_t steps)
{
    told t = two_devices(10, 0.01f);
    for (uint32_t i = 0; i < 400; i++) {
        t.speeds[1].rate = i % steps == 0 ? 5 : 10;
        if (ask(&t, 1))
            return true;
    }
    return false;
}

static void what_is_won_back_is_not_lost(void **state)
{
    (void)state;
    assert_true(changes_when_slow_in_one_of(4));
    assert_false(changes_when_slow_in_one_of(12));
}

static uint32_t patience(told *t)
{
    uint32_t steps = 1;
    while (!ask(t, 1))
        steps++;
    return steps;
}

static void patience_grows_with_each_change(void **state)
{
    (void)state;
    told t = two_devices(5, 0.01f);
    static const uint32_t expected[] = {3, 3, 5, 10, 19, 37};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(patience(&t), expected[i]);
}

static void what_did_not_come_true_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        float step_s, rate; /* after a change from 4 s to a predicted 2.7 s; for the next gain */
        uint32_t patience;
    } cases[] = {{2.7f, 8, 8},    {3.3f, 8, 8}, {3.4f, 8, 0},
                 {3.4f, 2.5f, 3}, {3.9f, 3, 0}, {3.9f, 1, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        told t = two_devices(5, 0.001f);
        t.speeds[0].step_s = 4;
        (void)patience(&t);
        t.speeds[1].rate = 10;
        t.speeds[0].step_s = cases[i].step_s;
        for (int j = 0; j < SH_BALANCE_TRIAL; j++)
            assert_false(ask(&t, 1));
        t.speeds[1].rate = cases[i].rate;
        t.speeds[0].step_s = 0;
        uint32_t steps = 1;
        while (steps < 50 && !ask(&t, 1))
            steps++;
        if (steps % 50 != cases[i].patience)
            fail_msg("case %zu: %u steps", i, steps);
    }
}

static void calm_brings_patience_back(void **state)
{
    (void)state;
    told t = two_devices(5, 0.01f);
    for (int i = 0; i < 4; i++)
        (void)patience(&t);
    t.speeds[1].rate = 10;
    for (int i = 0; i < 8 * SH_BALANCE_CALM; i++)
        assert_false(ask(&t, 1));
    t.speeds[1].rate = 5;
    assert_int_equal(patience(&t), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quiet_steps_change_nothing),
        cmocka_unit_test(noise_that_lasts_changes_little),
        cmocka_unit_test(unequal_devices_reach_their_sum),
        cmocka_unit_test(a_slowed_device_is_balanced_within_ten_steps),
        cmocka_unit_test(a_device_without_grains_is_tried_again),
        cmocka_unit_test(what_does_not_last_is_left_alone),
        cmocka_unit_test(a_gain_is_one_of_the_whole_step),
        cmocka_unit_test(a_change_comes_when_it_has_been_paid_for),
        cmocka_unit_test(what_is_won_back_is_not_lost),
        cmocka_unit_test(patience_grows_with_each_change),
        cmocka_unit_test(what_did_not_come_true_is_not_believed),
        cmocka_unit_test(calm_brings_patience_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
