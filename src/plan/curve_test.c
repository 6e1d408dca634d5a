/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/curve.h"

#include <math.h>

#include "base/test.h"

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-6 * fabs(expected)))
        fail_msg("%.9g instead of %.9g", value, expected);
}

static void the_curve_bends_where_the_exchange_costs_more(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 8, .summed = 1e6, .stretch = 1};
    sh_lineup_device devices[8];
    sh_curve curve;
    for (int i = 0; i < 8; i++)
        devices[i] = (sh_lineup_device){.rate = 10, .out = 1e7, .in = 1e7};
    sh_curve_make(&curve, &job, devices, 8);
    assert_int_equal(curve.count, 8);
    assert_near(curve.points[0].time.seconds, 0.8);
    assert_near(curve.points[1].time.seconds, 0.4 + 0.1);
    assert_near(curve.points[3].time.seconds, 0.2 + 0.15);
    assert_near(curve.points[7].time.seconds, 0.1 + 0.175);
    assert_int_equal(curve.best, 7);
    for (int i = 0; i < 8; i++) /* a tenth of the speed */
        devices[i].out = devices[i].in = 1e6;
    sh_curve_make(&curve, &job, devices, 8);
    assert_int_equal(curve.best, 0);
}

/* The slow link comes last; devices without a grain are counted. */
static void the_best_device_is_added_first(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 4, .summed = 1e6, .stretch = 1};
    const sh_lineup_device devices[] = {
        {.rate = 40, .out = 1e4, .in = 1e4},  {.rate = 10, .out = 1e9, .in = 1e9},
        {.rate = 10, .out = 1e9, .in = 1e9},  {.rate = 20, .out = 1e9, .in = 1e9},
        {.rate = 0.1, .out = 1e9, .in = 1e9},
    };
    sh_curve curve;
    sh_curve_make(&curve, &job, devices, 5);
    assert_int_equal(curve.points[0].added, 0); /* alone, its link does not matter */
    assert_int_equal(curve.best, 0);
    sh_curve_make(&curve, &job, devices + 1, 4);
    assert_int_equal(curve.points[0].added, 2);
    assert_int_equal(curve.points[1].added, 0);
    assert_int_equal(curve.points[2].added, 1);
    assert_int_equal(curve.points[3].added, 3);
    assert_int_equal(curve.best, 2);
    assert_int_equal(curve.points[2].idle, 0);
    assert_int_equal(curve.points[3].idle, 1);
}

static void a_device_of_unknown_speed_counts_as_the_mean(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 8, .summed = 1, .stretch = 1};
    const sh_lineup_device devices[] = {{.rate = 0}, {.rate = 10}};
    sh_curve curve;
    sh_curve_make(&curve, &job, devices, 2);
    assert_near(curve.points[0].time.seconds, 0.8);
    assert_near(curve.points[1].time.seconds, 0.4);
    assert_int_equal(curve.best, 1);
}

static void a_fast_device_behind_a_slow_link_comes_last(void **state)
{
    (void)state;
    const sh_lineup_job job = {.grains = 4, .summed = 1e6, .stretch = 1};
    sh_lineup_device devices[5] = {{.rate = 20, .out = 1e4, .in = 1e4}};
    sh_curve curve;
    for (int i = 1; i < 5; i++)
        devices[i] = (sh_lineup_device){.rate = 10, .out = 1e9, .in = 1e9};
    sh_curve_make(&curve, &job, devices, 5);
    assert_int_equal(curve.best, 3);
    assert_near(curve.points[3].time.seconds, 0.1 + 1.5e-3);
    assert_int_equal(curve.points[4].added, 0);
}

static void a_curve_is_told_in_a_sentence(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    sh_lineup_job job = {.grains = 8, .summed = 1e6, .stretch = 1};
    sh_lineup_device devices[8];
    sh_curve curve;
    char text[256];
    for (int i = 0; i < 8; i++)
        devices[i] = (sh_lineup_device){.rate = 10, .out = 1e7, .in = 1e7};
    devices[7].out = 5e6;
    sh_curve_make(&curve, &job, devices, 8);
    sh_curve_describe(&curve, names, text, sizeof text);
    assert_string_equal(text, "expected of a step: 800 ms with 1, 500 ms with 2, 433 ms with 3, "
                              "350 ms with 4 (fastest), 450 ms with 8; with all, the link of h "
                              "takes longest");
    sh_curve_make(&curve, &job, devices, 2);
    sh_curve_describe(&curve, names, text, sizeof text);
    assert_string_equal(text, "expected of a step: 800 ms with 1, 500 ms with 2 (fastest); with "
                              "all, computing takes longest");
    job.grains = 2;
    sh_curve_make(&curve, &job, devices, 3);
    sh_curve_describe(&curve, names, text, sizeof text);
    assert_non_null(strstr(text, "; with all, 1 has no grain"));
    sh_curve_describe(&curve, names, text, 30);
    assert_int_equal(strlen(text), 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_curve_bends_where_the_exchange_costs_more),
        cmocka_unit_test(the_best_device_is_added_first),
        cmocka_unit_test(a_device_of_unknown_speed_counts_as_the_mean),
        cmocka_unit_test(a_fast_device_behind_a_slow_link_comes_last),
        cmocka_unit_test(a_curve_is_told_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
