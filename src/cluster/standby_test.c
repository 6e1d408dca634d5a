/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/standby.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "base/test.h"

#define MBIT 125000.0
#define DEVICES 8

/* Step times have their own stretch and noise. */
typedef struct cluster {
    sh_lineup_device devices[DEVICES];
    bool fresh[DEVICES], used[DEVICES];
    uint32_t count;
    sh_lineup_job job; /* the truth */
    double noise;
    sh_standby standby;
    uint64_t now_ms, steps;
    double of_step;
    uint32_t changes;
    sh_random random;
} cluster;

static void make(cluster *c, const sh_lineup_job *job, uint32_t count, double rate, double mbit)
{
    *c = (cluster){.job = *job, .count = count, .now_ms = 1000};
    c->random = sh_random_for(7, SH_RANDOM_TEST, 3, 0);
    for (uint32_t i = 0; i < count; i++) {
        c->devices[i] = (sh_lineup_device){rate, mbit * MBIT, mbit * MBIT, 0.0003, .fixed = i == 0};
        c->fresh[i] = i > 0;
    }
    c->used[0] = true;
    sh_standby_init(&c->standby, job, SH_STANDBY_AUTO);
}

static double step_s(const cluster *c)
{
    return sh_lineup_time_of(&c->job, c->devices, c->used, c->count, NULL).seconds;
}

static void pass(cluster *c, uint64_t ms)
{
    for (uint64_t until = c->now_ms + ms; c->now_ms < until; c->now_ms += 100) {
        const double takes_s = step_s(c);
        c->of_step += 0.1 / takes_s;
        c->steps += (uint64_t)c->of_step;
        c->of_step -= floor(c->of_step);
        const double noise = c->noise * (2 * (double)sh_random_unit(&c->random) - 1);
        const sh_standby_seen seen = {takes_s * (1 + noise), 1 + c->changes, c->steps, c->now_ms};
        if (sh_standby_assess(&c->standby, c->devices, c->fresh, c->used, c->count, &seen)) {
            c->changes++;
            c->steps = 0;
            c->of_step = 0;
        }
        for (uint32_t i = 0; i < c->count; i++)
            c->fresh[i] = false;
    }
}

static uint32_t used(const cluster *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->count; i++)
        n += c->used[i];
    return n;
}

static const sh_lineup_job small = {.grains = 4, .summed = 437e3, .base_s = 0.0002, .stretch = 1};
static const sh_lineup_job large = {.grains = 16, .summed = 1.1e6, .base_s = 0.002, .stretch = 0.8};

static void one_device_goes_on_alone_where_that_is_faster(void **state)
{
    (void)state;
    cluster c;
    make(&c, &small, 4, 1500, 100);
    pass(&c, 60000);
    assert_int_equal(used(&c), 1);
    assert_int_equal(c.changes, 0);
}

static void all_come_in_at_once_where_they_help(void **state)
{
    (void)state;
    cluster c;
    make(&c, &large, 4, 20, 100);
    pass(&c, 200);
    assert_int_equal(used(&c), 4);
    pass(&c, 600000);
    assert_int_equal(used(&c), 4);
    assert_int_equal(c.changes, 1);
}

/* Links deliver less than measured, as with encryption on a slow processor. */
static void a_promise_that_is_not_kept_is_taken_back(void **state)
{
    (void)state;
    cluster c;
    sh_lineup_job job = large;
    job.stretch = 12;
    make(&c, &job, 2, 40, 100);
    pass(&c, 100);
    assert_int_equal(used(&c), 2);
    pass(&c, 20000);
    assert_int_equal(used(&c), 1);
    double lost_s = 0;
    const double alone_s = step_s(&c);
    for (int i = 0; i < 6000; i++) {
        pass(&c, 100);
        lost_s += 0.1 * (1 - alone_s / step_s(&c));
    }
    assert_true(lost_s < 600 * 0.02);
}

static void a_link_that_falls_puts_its_device_on_stand_by_and_back(void **state)
{
    (void)state;
    cluster c;
    make(&c, &large, 4, 20, 100);
    pass(&c, 30000);
    assert_int_equal(used(&c), 4);
    c.devices[2].out = MBIT;
    pass(&c, 3000);
    assert_int_equal(used(&c), 3);
    assert_false(c.used[2]);
    pass(&c, 30000);
    assert_false(c.used[2]);
    c.devices[2].out = 100 * MBIT;
    pass(&c, 4000);
    assert_true(c.used[2]);
    assert_int_equal(c.changes, 3);
}

static void changes_are_few_whatever_links_do(void **state)
{
    (void)state;
    cluster c;
    make(&c, &large, 6, 20, 100);
    c.noise = 0.1;
    for (int i = 0; i < 300; i++) {
        const uint32_t which = sh_random_below(&c.random, 5) + 1;
        c.devices[which].out = c.devices[which].in =
            MBIT * pow(10, 2 * (double)sh_random_unit(&c.random));
        pass(&c, 2000);
    }
    assert_true(c.changes < 32); /* 20; 44 if the price did not rise */
}

static void noise_alone_changes_nothing(void **state)
{
    (void)state;
    cluster c;
    make(&c, &large, 6, 20, 100);
    c.noise = 0.15;
    pass(&c, 600000);
    assert_int_equal(used(&c), 6);
    assert_true(c.changes <= 3);
}

static void one_is_not_swapped_for_its_like(void **state)
{
    (void)state;
    cluster c;
    make(&c, &large, 3, 20, 100);
    c.standby.most = 2;
    c.fresh[1] = false;
    c.used[1] = true;
    c.devices[1].out = 50 * MBIT;
    c.devices[2].out = 60 * MBIT; /* a step would be 4 % shorter */
    pass(&c, 60000);
    assert_true(c.used[1]);
    assert_int_equal(c.changes, 0);
    c.devices[2].rate = 40;
    pass(&c, 5000);
    assert_true(c.used[2]);
    assert_int_equal(c.changes, 1);
}

static void no_more_than_asked_for(void **state)
{
    (void)state;
    cluster c;
    make(&c, &large, 5, 20, 1000);
    c.standby.most = 2;
    for (int i = 0; i < 5; i++)
        c.used[i] = true;
    pass(&c, 100);
    assert_int_equal(used(&c), 2);
    char text[256];
    sh_standby_explain(&c.standby, c.devices, c.used, 5, c.used[1] ? 2 : 1, text, sizeof text);
    assert_non_null(strstr(text, "2 may compute"));
}

static void a_device_that_stands_by_is_told_why(void **state)
{
    (void)state;
    cluster c;
    char text[256];
    make(&c, &small, 6, 1500, 30);
    pass(&c, 1000);
    sh_standby_explain(&c.standby, c.devices, c.used, 6, 1, text, sizeof text);
    assert_non_null(strstr(text, "its link of 30 Mbit/s would carry 0.437 MB a step"));
    assert_non_null(strstr(text, "instead of 2.87 ms"));
    make(&c, &small, 6, 0.1, 1000);
    pass(&c, 1000);
    assert_int_equal(used(&c), 4);
    for (uint32_t i = 1; i < 6; i++)
        if (!c.used[i])
            sh_standby_explain(&c.standby, c.devices, c.used, 6, i, text, sizeof text);
    assert_non_null(strstr(
        text,
        "a step has 4 grains, and the other devices have all of them; smaller ones (--grain"));
    c.devices[5].rate = 0.001;
    for (uint32_t i = 1; i < 5; i++)
        c.used[i] = i < 3;
    c.used[5] = false;
    sh_standby_explain(&c.standby, c.devices, c.used, 6, 5, text, sizeof text);
    assert_non_null(
        strstr(text, "it would compute one of the 4 grains of a step, and need longer"));
}

static void what_may_be_written(void **state)
{
    (void)state;
    static const char *const good[] = {"auto", "all", "1", "256"};
    static const char *const bad[] = {"", "0", "257", "-1", "some", "1 ", "0x2", "99999999999999"};
    char text[SH_STANDBY_TEXT];
    uint32_t most = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_ok(sh_standby_parse(&most, good[i]));
        sh_standby_print(most, text);
        assert_string_equal(text, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(sh_standby_parse(&most, bad[i]), SH_INVALID, "must be auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_written),
        cmocka_unit_test(one_device_goes_on_alone_where_that_is_faster),
        cmocka_unit_test(all_come_in_at_once_where_they_help),
        cmocka_unit_test(a_promise_that_is_not_kept_is_taken_back),
        cmocka_unit_test(a_link_that_falls_puts_its_device_on_stand_by_and_back),
        cmocka_unit_test(changes_are_few_whatever_links_do),
        cmocka_unit_test(noise_alone_changes_nothing),
        cmocka_unit_test(one_is_not_swapped_for_its_like),
        cmocka_unit_test(no_more_than_asked_for),
        cmocka_unit_test(a_device_that_stands_by_is_told_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
