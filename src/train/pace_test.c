/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pace.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

/* Approximately normal: mean 0, deviation 1. */
static double normal(sh_random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)sh_random_unit(random);
    return sum;
}

/* Steps of 8 grains on two lanes. */
static void note_steps(sh_pace *pace, sh_random *random, uint32_t steps, double rate, double jitter)
{
    for (uint32_t i = 0; i < steps; i++)
        sh_pace_note_grains(pace, 8, 2 * 8 / rate * exp(jitter * normal(random)));
}

static void nothing_is_known_in_the_beginning(void **state)
{
    (void)state;
    sh_pace pace = {0};
    assert_true(sh_pace_speed(&pace, 2).rate == 0 && sh_pace_speed(&pace, 2).step_s == 0);
    sh_pace_note_grains(&pace, 8, 1000); /* ignored */
    for (int i = 0; i < 6; i++) {
        assert_true(sh_pace_speed(&pace, 2).rate == 0);
        sh_pace_note_grains(&pace, 0, 1);
        sh_pace_note_grains(&pace, 1, 0);
        sh_pace_note_grains(&pace, 8, 4);
    }
    const sh_speed speed = sh_pace_speed(&pace, 2);
    assert_true(fabsf(speed.rate - 4) < 1e-5f);
    assert_true(speed.error > 0);
}

static void an_error_is_as_large_as_it_says(void **state)
{
    (void)state;
    static const double jitters[] = {0.02, 0.1, 0.3};
    for (size_t j = 0; j < sizeof jitters / sizeof *jitters; j++) {
        double squares = 0;
        for (uint32_t seed = 0; seed < 200; seed++) {
            sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0);
            sh_pace pace = {0};
            note_steps(&pace, &random, 40, 10, jitters[j]);
            const sh_speed speed = sh_pace_speed(&pace, 2);
            const double off = log((double)speed.rate / 10) / (double)speed.error;
            squares += off * off / 200;
        }
        if (sqrt(squares) < 0.5 || sqrt(squares) > 1.3)
            fail_msg("jitter %g: the rate is off by %g errors", jitters[j], sqrt(squares));
    }
}

/* Noise that lasts for several steps has few independent values. */
static void an_error_knows_of_noise_that_lasts(void **state)
{
    (void)state;
    static const uint32_t lasting[] = {2, 4, 6};
    for (size_t l = 0; l < sizeof lasting / sizeof *lasting; l++) {
        double squares = 0;
        for (uint32_t seed = 0; seed < 200; seed++) {
            sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 4, 0);
            sh_pace pace = {0};
            for (uint32_t i = 0; i < 100; i += lasting[l])
                note_steps(&pace, &random, lasting[l], 10 * exp(0.05 * normal(&random)), 0.05);
            const sh_speed speed = sh_pace_speed(&pace, 2);
            const double off = log((double)speed.rate / 10) / (double)speed.error;
            squares += off * off / 200;
        }
        if (sqrt(squares) < 0.5 || sqrt(squares) > 1.5)
            fail_msg("%u steps: the rate is off by %g errors", lasting[l], sqrt(squares));
    }
}

static void single_long_steps_are_not_seen(void **state)
{
    (void)state;
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    sh_pace pace = {0};
    for (int i = 0; i < 200; i++) {
        note_steps(&pace, &random, 1, i % 5 == 4 ? 2 : 10, 0.03);
        const sh_speed speed = sh_pace_speed(&pace, 2);
        if (i > 8 && fabs(log((double)speed.rate / 10)) > 0.06)
            fail_msg("step %d: %g grains/s", i, (double)speed.rate);
    }
}

static void another_speed_is_seen_in_five_steps(void **state)
{
    (void)state;
    static const struct {
        double jitter, rate;
    } cases[] = {{0.01, 5}, {0.05, 5}, {0.1, 5}, {0.1, 20}, {0.01, 8.5}, {0.02, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t seed = 0; seed < 20; seed++) {
            sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 1, 0);
            sh_pace pace = {0};
            note_steps(&pace, &random, 100, 10, cases[i].jitter);
            note_steps(&pace, &random, 5, cases[i].rate, cases[i].jitter);
            const sh_speed speed = sh_pace_speed(&pace, 2);
            if (fabs(log((double)speed.rate / cases[i].rate)) > 4 * (double)speed.error)
                fail_msg("case %zu seed %u: %g grains/s, error %g", i, seed, (double)speed.rate,
                         (double)speed.error);
        }
}

static void hope_grows_without_grains(void **state)
{
    (void)state;
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 3, 0);
    sh_pace pace = {0};
    for (int i = 0; i < 1000; i++)
        sh_pace_note_grains(&pace, 0, 1e-6);
    assert_true(sh_pace_speed(&pace, 2).rate == 0);
    note_steps(&pace, &random, 50, 10, 0.01);
    for (int i = 0; i < 138; i++) /* ln 2 / 0.005 */
        sh_pace_note_grains(&pace, 0, 1e-6);
    assert_true(fabsf(sh_pace_speed(&pace, 2).rate - 20) < 0.3f);
    note_steps(&pace, &random, 1, 10, 0.01);
    assert_true(fabsf(sh_pace_speed(&pace, 2).rate - 10) < 0.1f);
}

static void noise_is_no_other_speed(void **state)
{
    (void)state;
    uint32_t shifted = 0;
    for (uint32_t seed = 0; seed < 20; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 2, 0);
        sh_pace pace = {0};
        note_steps(&pace, &random, 300, 10, 0.2);
        shifted += pace.steady < SH_PACE_WINDOW;
    }
    assert_true(shifted <= 1);
}

static void steps_are_the_median_of_the_last(void **state)
{
    (void)state;
    sh_pace pace = {0};
    sh_pace_note_step(&pace, 4);
    assert_true(sh_pace_speed(&pace, 1).step_s == 4);
    for (int i = 0; i < 20; i++)
        sh_pace_note_step(&pace, i == 17 ? 100 : 2);
    assert_true(sh_pace_speed(&pace, 1).step_s == 2);
}

static void speeds_differ_where_they_are_far(void **state)
{
    (void)state;
    static const struct {
        sh_speed before, after;
        bool differs;
    } cases[] = {
        {{0, 0, 0}, {0, 0, 0}, false},           {{0, 0, 0}, {10, 0.1f, 0}, true},
        {{10, 0.1f, 1}, {9, 0.5f, 1.1f}, false}, {{10, 0.1f, 1}, {8.5f, 0.1f, 1}, true},
        {{8.5f, 0.1f, 1}, {10, 0.1f, 1}, true},  {{10, 0.1f, 1}, {10, 0.1f, 1.2f}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sh_speed_differs(&cases[i].before, &cases[i].after) != cases[i].differs)
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_in_the_beginning),
        cmocka_unit_test(an_error_is_as_large_as_it_says),
        cmocka_unit_test(an_error_knows_of_noise_that_lasts),
        cmocka_unit_test(single_long_steps_are_not_seen),
        cmocka_unit_test(another_speed_is_seen_in_five_steps),
        cmocka_unit_test(hope_grows_without_grains),
        cmocka_unit_test(noise_is_no_other_speed),
        cmocka_unit_test(steps_are_the_median_of_the_last),
        cmocka_unit_test(speeds_differ_where_they_are_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
