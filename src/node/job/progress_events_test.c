/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/progress_events.h"

#include "base/test.h"

#define SECOND 1000000000ull

/* 10 epochs of 5 steps; step 12 is the second of the third epoch. */
static void test_an_event_says_what_the_report_says(void **state)
{
    const sh_schedule schedule = {.epoch_steps = 5, .total_steps = 48};
    const sh_progress_report report = {
        .batch = {.epoch = 2, .step = 1},
        .schedule = &schedule,
        .steps = 12,
        .epoch = {.loss = 30, .score = 15, .samples = 20},
        .scale = {.target = SH_TARGET_CLASS, .outputs = 10},
        .devices = 3,
    };
    sh_progress_pace pace;
    sh_progress_pace_start(&pace, 5 * SECOND);
    const sh_event step = sh_progress_event(SH_EVENT_STEP, &report, &pace, 9 * SECOND);
    (void)state;
    assert_int_equal(step.epoch, 3);
    assert_int_equal(step.epochs, 10);
    assert_int_equal(step.step, 2);
    assert_int_equal(step.total_step, 12);
    assert_int_equal(step.devices, 3);
    assert_float_equal(step.seconds, 4, 1e-6);
    assert_true(step.loss == 1.5 && step.accuracy == 0.75);

    const sh_sum_totals validation = {.loss = 40, .score = 8, .samples = 10};
    const sh_event epoch = sh_progress_validated(&report, &validation, &pace, 9 * SECOND);
    assert_int_equal(epoch.kind, SH_EVENT_EPOCH);
    assert_true(epoch.val_loss == 4 && epoch.val_accuracy == 0.8 && epoch.loss == 1.5);
}

static void test_the_rate_is_of_the_last_steps(void **state)
{
    sh_progress_pace pace;
    uint64_t now = SECOND;
    sh_progress_pace_start(&pace, now);
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_float_equal(sh_progress_rate(&pace, 8, now += 2 * SECOND), 4, 1e-6);
    double rate = 0;
    for (int i = 0; i < SH_RATE_STEPS; i++)
        rate = sh_progress_rate(&pace, 8, now += SECOND);
    assert_float_equal(rate, 8, 1e-6);
    sh_progress_pace_start(&pace, now);
    assert_true(sh_progress_rate(&pace, 8, now) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_event_says_what_the_report_says),
        cmocka_unit_test(test_the_rate_is_of_the_last_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
