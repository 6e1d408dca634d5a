/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/gauge.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

#define MS 1000000u
#define MBIT 125000.0

typedef struct way {
    double in, out, delay_s;
    uint64_t now_ns;
    uint64_t bytes; /* so far, both ways */
    double longest_s;
} way;

static double carry(way *w, const sh_probe *probe)
{
    const double took_s = w->delay_s + probe->bytes / w->in + probe->wanted / w->out;
    w->bytes += probe->bytes + probe->wanted;
    w->longest_s = fmax(w->longest_s, took_s);
    w->now_ns += (uint64_t)(took_s * 1e9);
    return took_s;
}

static void pass(sh_gauge *gauge, way *w, uint64_t ms)
{
    const uint64_t until_ns = w->now_ns + ms * MS;
    sh_probe probe;
    for (; w->now_ns < until_ns; w->now_ns += 50 * MS)
        while (sh_gauge_next(gauge, w->now_ns, &probe)) {
            carry(w, &probe);
            sh_gauge_answer(gauge, probe.number, w->now_ns);
        }
}

static void assert_about(double value, double expected)
{
    if (!(fabs(value - expected) <= 0.02 * expected))
        fail_msg("%g instead of about %g", value, expected);
}

static void speeds_are_found_each_way(void **state)
{
    (void)state;
    static const double speeds[] = {1, 10, 30, 100, 1000}; /* Mbit/s */
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        sh_gauge gauge = {0};
        way w = {.in = speeds[i] * MBIT, .out = speeds[i] * MBIT / 4, .delay_s = 0.001};
        assert_true(sh_gauge_speed(&gauge, w.now_ns).in == 0);
        pass(&gauge, &w, 3000);
        const sh_link_speed speed = sh_gauge_speed(&gauge, w.now_ns);
        assert_about(speed.in, w.in);
        assert_about(speed.out, w.out);
        assert_about(speed.delay_s, w.delay_s);
    }
}

static void a_probe_never_takes_long(void **state)
{
    (void)state;
    sh_gauge gauge = {0};
    way w = {.in = MBIT, .out = MBIT, .delay_s = 0.01};
    pass(&gauge, &w, 60000);
    assert_true(w.longest_s < 0.1);
}

static void a_link_that_is_known_costs_little(void **state)
{
    (void)state;
    sh_gauge gauge = {0};
    way w = {.in = 100 * MBIT, .out = 100 * MBIT, .delay_s = 0.0003};
    pass(&gauge, &w, 3000);
    w.bytes = 0;
    pass(&gauge, &w, 60000);
    assert_true(w.bytes > 0);
    assert_true((double)w.bytes / 2 / 60 < 0.002 * w.in); /* each way */
}

static void a_change_is_seen_and_seen_to_pass(void **state)
{
    (void)state;
    sh_gauge gauge = {0};
    way w = {.in = 100 * MBIT, .out = 100 * MBIT, .delay_s = 0.0003};
    pass(&gauge, &w, 3000);
    w.out = MBIT;
    pass(&gauge, &w, 5000);
    assert_about(sh_gauge_speed(&gauge, w.now_ns).out, MBIT);
    assert_about(sh_gauge_speed(&gauge, w.now_ns).in, 100 * MBIT);
    w.out = 100 * MBIT;
    pass(&gauge, &w, 5000);
    assert_about(sh_gauge_speed(&gauge, w.now_ns).out, 100 * MBIT);
}

static void one_slow_measurement_changes_nothing(void **state)
{
    (void)state;
    sh_gauge gauge = {0};
    way w = {.in = 100 * MBIT, .out = 100 * MBIT, .delay_s = 0.0003};
    pass(&gauge, &w, 3000);
    const double before = sh_gauge_speed(&gauge, w.now_ns).in;
    w.delay_s = 0.2;
    w.in = w.out = 5 * MBIT;
    pass(&gauge, &w, 2000);
    w.delay_s = 0.0003;
    w.in = w.out = 100 * MBIT;
    pass(&gauge, &w, 500);
    assert_about(sh_gauge_speed(&gauge, w.now_ns).in, before);
}

/* A quota lets the device run for 2 of 10 ms: most answers wait for the next slice. */
static void a_processor_that_is_held_back_is_no_slow_link(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 200; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 4, 0);
        sh_gauge gauge = {0};
        sh_probe probe;
        way w = {.in = 100 * MBIT, .out = 100 * MBIT, .delay_s = 0.0003};
        while (gauge.measured < 2) {
            while (sh_gauge_next(&gauge, w.now_ns, &probe)) {
                carry(&w, &probe);
                const uint32_t turn = sh_random_below(&random, 10);
                w.now_ns += turn < 2 ? 0 : (10 - turn) * MS;
                sh_gauge_answer(&gauge, probe.number, w.now_ns);
            }
            w.now_ns += 50 * MS;
        }
        assert_true(sh_gauge_speed(&gauge, w.now_ns).in > 50 * MBIT);
        assert_true(sh_gauge_speed(&gauge, w.now_ns).out > 50 * MBIT);
    }
}

static void an_answer_that_is_overdue_is_a_long_way(void **state)
{
    (void)state;
    sh_gauge gauge = {0};
    sh_probe probe;
    way w = {.in = 100 * MBIT, .out = 100 * MBIT, .delay_s = 0.0003};
    pass(&gauge, &w, 3000);
    while (!sh_gauge_next(&gauge, w.now_ns, &probe))
        w.now_ns += 50 * MS;
    assert_about(sh_gauge_speed(&gauge, w.now_ns + 100 * MS).delay_s, 0.0003);
    sh_link_speed speed;
    assert_true(sh_gauge_news(&gauge, w.now_ns, &speed));
    assert_false(sh_gauge_news(&gauge, w.now_ns + 100 * MS, &speed));
    assert_about(sh_gauge_speed(&gauge, w.now_ns + 900 * MS).delay_s, 0.9);
    assert_true(sh_gauge_news(&gauge, w.now_ns + 900 * MS, &speed));
    assert_about(speed.delay_s, 0.9);
    sh_gauge_answer(&gauge, probe.number, w.now_ns + 950 * MS);
    assert_true(sh_gauge_news(&gauge, w.now_ns + 950 * MS, &speed));
    assert_about(speed.delay_s, 0.0003);
    assert_false(sh_gauge_news(&gauge, w.now_ns + 960 * MS, &speed));
}

static void an_answer_that_nobody_asked_for_is_ignored(void **state)
{
    (void)state;
    sh_gauge gauge = {0};
    sh_probe probe, other;
    sh_gauge_answer(&gauge, 0, 5 * MS);
    sh_gauge_answer(&gauge, 1, 5 * MS);
    assert_true(sh_gauge_next(&gauge, 10 * MS, &probe));
    assert_int_equal(probe.number, 1);
    assert_false(sh_gauge_next(&gauge, 11 * MS, &other));
    sh_gauge_answer(&gauge, 2, 12 * MS);
    assert_false(sh_gauge_next(&gauge, 12 * MS, &other));
    sh_gauge_answer(&gauge, 1, 13 * MS);
    assert_true(sh_gauge_next(&gauge, 13 * MS, &other));
    sh_gauge_answer(&gauge, 1, 14 * MS);
    assert_false(sh_gauge_next(&gauge, 14 * MS, &probe));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speeds_are_found_each_way),
        cmocka_unit_test(a_probe_never_takes_long),
        cmocka_unit_test(a_link_that_is_known_costs_little),
        cmocka_unit_test(a_change_is_seen_and_seen_to_pass),
        cmocka_unit_test(one_slow_measurement_changes_nothing),
        cmocka_unit_test(a_processor_that_is_held_back_is_no_slow_link),
        cmocka_unit_test(an_answer_that_is_overdue_is_a_long_way),
        cmocka_unit_test(an_answer_that_nobody_asked_for_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
