/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/lineup.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g instead of %.9g", value, expected);
}

#define MBIT 125000.0

static void a_step_is_what_its_parts_say(void **state)
{
    (void)state;
    const sh_lineup_job job = {
        .grains = 8, .summed = 1e6, .gathered = 4e5, .base_s = 0.01, .stretch = 1.5};
    const sh_lineup_device devices[] = {
        {.rate = 10, .out = 1e7, .in = 2e7, .delay_s = 0.004, .fixed = true},
        {.rate = 30, .out = 4e6, .in = 5e6, .delay_s = 0.001},
        {.rate = 1, .out = 1, .in = 1},
    };
    const bool one[] = {true, false, false}, two[] = {true, true, false};
    sh_range shares[3];
    sh_lineup_time time = sh_lineup_time_of(&job, devices, one, 3, NULL);
    assert_near(time.compute_s, 0.8);
    assert_near(time.exchange_s, 0);
    assert_near(time.seconds, 0.81);
    time = sh_lineup_time_of(&job, devices, two, 3, shares);
    assert_int_equal(shares[0].count, 2);
    assert_int_equal(shares[1].count, 6);
    assert_near(time.compute_s, 0.2);
    /* Each device sends half of 2.4e6 bytes at 4e6 bytes/s; two hops of half a millisecond. */
    assert_near(time.exchange_s, 1.5 * (0.3 + 0.001));
    assert_int_equal(time.slowest, 1);
    assert_near(time.seconds, 0.01 + time.compute_s + time.exchange_s);
}

static void servers_take_two_hops_however_many_devices(void **state)
{
    (void)state;
    sh_lineup_job job = {.grains = 8, .stretch = 1};
    sh_lineup_device devices[4];
    bool used[4];
    for (int i = 0; i < 4; i++) {
        devices[i] = (sh_lineup_device){.rate = 1, .delay_s = 0.1};
        used[i] = true;
    }
    assert_near(sh_lineup_time_of(&job, devices, used, 4, NULL).exchange_s, 0.3);
    job.servers = true;
    assert_near(sh_lineup_time_of(&job, devices, used, 4, NULL).exchange_s, 0.1);
}

static sh_lineup choose(const sh_lineup_job *job, const sh_lineup_device *devices, uint32_t count)
{
    sh_lineup lineup;
    sh_lineup_choose(&lineup, job, devices, count, count);
    return lineup;
}

/* 437 KB and 2.6 ms per step alone: links of 100 Mbit/s do not help. */
static void a_small_step_stays_with_one(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 4, .summed = 437e3, .stretch = 1};
    sh_lineup_device devices[10];
    for (int i = 0; i < 10; i++)
        devices[i] = (sh_lineup_device){1500, 100 * MBIT, 100 * MBIT, 0.0002, i == 0};
    assert_int_equal(choose(&job, devices, 10).count, 1);
    for (int i = 0; i < 10; i++)
        devices[i].rate = 1; /* steps of seconds are worth it */
    const sh_lineup lineup = choose(&job, devices, 10);
    assert_int_equal(lineup.count, 4); /* the others would have no grain */
    assert_true(lineup.used[0]);
}

static void a_bad_link_stays_out(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 16, .summed = 1.1e6, .stretch = 1};
    sh_lineup_device devices[4];
    for (int i = 0; i < 4; i++)
        devices[i] = (sh_lineup_device){20, 100 * MBIT, 100 * MBIT, 0.0002, i == 0};
    assert_int_equal(choose(&job, devices, 4).count, 4);
    devices[2].in = MBIT;
    sh_lineup lineup = choose(&job, devices, 4);
    assert_int_equal(lineup.count, 3);
    assert_false(lineup.used[2]);
    devices[0].out = MBIT; /* unavoidable */
    lineup = choose(&job, devices, 4);
    assert_int_equal(lineup.count, 1);
    assert_true(lineup.used[0]);
}

static void what_is_measured_counts(void **state)
{
    (void)state;
    sh_lineup_job job = {.grains = 8, .summed = 1e6, .stretch = 1};
    sh_lineup_device devices[2] = {{.rate = 40, .out = 1e7, .in = 1e7, .fixed = true},
                                   {.rate = 40, .out = 1e7, .in = 1e7}};
    assert_int_equal(choose(&job, devices, 2).count, 1); /* 200 ms; 100 and 100 */
    job.stretch = 0.5;
    assert_int_equal(choose(&job, devices, 2).count, 2);
}

static void a_slow_device_that_must_be_there_computes_nothing(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 4, .stretch = 1};
    const sh_lineup_device devices[] = {{.rate = 0.1, .fixed = true}, {.rate = 10}, {.rate = 10}};
    sh_range shares[3];
    const sh_lineup lineup = choose(&job, devices, 3);
    assert_int_equal(lineup.count, 3);
    (void)sh_lineup_time_of(&job, devices, lineup.used, 3, shares);
    assert_int_equal(shares[0].count, 0);
}

static void never_more_than_may_be_used(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 64, .stretch = 1};
    sh_lineup_device devices[6];
    sh_lineup lineup;
    for (int i = 0; i < 6; i++)
        devices[i] = (sh_lineup_device){.rate = 1 + i, .fixed = i == 1};
    sh_lineup_choose(&lineup, &job, devices, 6, 3);
    assert_int_equal(lineup.count, 3);
    assert_true(lineup.used[1] && lineup.used[4] && lineup.used[5]);
}

/* The shortest step of all sets without idle devices, except fixed ones. */
static double try_all(const sh_lineup_job *job, const sh_lineup_device *devices, uint32_t count)
{
    double best = INFINITY;
    for (uint32_t set = 1; set < 1u << count; set++) {
        bool used[8], complete = true;
        for (uint32_t i = 0; i < count; i++) {
            used[i] = (set >> i & 1) != 0;
            complete = complete && (used[i] || !devices[i].fixed);
        }
        if (complete)
            best = fmin(best, sh_lineup_time_of(job, devices, used, count, NULL).seconds);
    }
    return best;
}

static void no_set_is_better(void **state)
{
    (void)state;
    uint32_t exact = 0;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 2, 0);
        const uint32_t count = 1 + sh_random_below(&random, 7);
        const sh_lineup_job job = {.grains = 1 + sh_random_below(&random, 24),
                                   .summed = 1e6 * sh_random_unit(&random),
                                   .gathered = 1e5 * sh_random_unit(&random),
                                   .base_s = 0.01 * sh_random_unit(&random),
                                   .servers = sh_random_below(&random, 2) == 1,
                                   .stretch = 0.2 + 2 * sh_random_unit(&random)};
        sh_lineup_device devices[7];
        for (uint32_t i = 0; i < count; i++)
            devices[i] = (sh_lineup_device){
                .rate = 0.5 + 20 * sh_random_unit(&random) * sh_random_unit(&random),
                .out = MBIT * (1 + 300 * sh_random_unit(&random) * sh_random_unit(&random)),
                .in = MBIT * (1 + 300 * sh_random_unit(&random) * sh_random_unit(&random)),
                .delay_s = 0.001,
                .fixed = i == 0,
            };
        sh_lineup lineup = choose(&job, devices, count);
        const double best = try_all(&job, devices, count);
        assert_true(lineup.time.seconds <= best * 1.02);
        exact += lineup.time.seconds <= best * 1.001;
        assert_true(lineup.used[0]);
        sh_range shares[7];
        (void)sh_lineup_time_of(&job, devices, lineup.used, count, shares);
        for (uint32_t i = 1, seat = lineup.used[0]; i < count; i++)
            assert_true(!lineup.used[i] || shares[seat++].count > 0);
        assert_near(sh_lineup_time_of(&job, devices, lineup.used, count, NULL).seconds,
                    lineup.time.seconds);
    }
    assert_true(exact >= 2990);
}

static void many_links_are_thinned_out(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 256, .summed = 4e5, .stretch = 1};
    sh_lineup_device devices[61];
    double best = INFINITY;
    for (uint32_t i = 0; i <= 60; i++) {
        const double speed = i == 0 ? 100 * MBIT : (1 + i) * MBIT;
        devices[i] = (sh_lineup_device){10, speed, speed, 0, i == 0};
    }
    for (uint32_t k = 0; k <= 60; k++) { /* the k fastest links are the best k */
        bool used[61] = {true};
        for (uint32_t i = 0; i < k; i++)
            used[60 - i] = true;
        best = fmin(best, sh_lineup_time_of(&job, devices, used, 61, NULL).seconds);
    }
    assert_true(choose(&job, devices, 61).time.seconds <= best * 1.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_what_its_parts_say),
        cmocka_unit_test(servers_take_two_hops_however_many_devices),
        cmocka_unit_test(a_small_step_stays_with_one),
        cmocka_unit_test(a_bad_link_stays_out),
        cmocka_unit_test(what_is_measured_counts),
        cmocka_unit_test(a_slow_device_that_must_be_there_computes_nothing),
        cmocka_unit_test(never_more_than_may_be_used),
        cmocka_unit_test(no_set_is_better),
        cmocka_unit_test(many_links_are_thinned_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
