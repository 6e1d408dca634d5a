/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/lr_range.h"

#include <math.h>
#include <stdio.h>

#include "base/test.h"

static void begin(sh_train_options *options)
{
    sh_train_options_init(options);
    assert_ok(sh_lr_range_begin(options));
    assert_string_equal(options->job.schedule, "constant");
    options->lr_find = true;
}

static void the_job_becomes_a_range_test(void **state)
{
    (void)state;
    sh_train_options options;
    begin(&options);
    options.job.patience = 3;
    options.job.warmup = 2;
    for (int i = 0; i < 2; i++) {
        assert_ok(sh_lr_range_begin(&options));
        assert_string_equal(options.job.schedule, "range-test:1e8");
        assert_true(options.job.lr == 10 && options.job.warmup == 0);
        assert_int_equal(options.job.patience, 0);
        assert_int_equal(options.job.steps, 100);
    }
    options.job.steps = 30;
    assert_ok(sh_lr_range_begin(&options));
    assert_int_equal(options.job.steps, 30);
}

static void what_has_no_such_steps_is_refused(void **state)
{
    (void)state;
    sh_train_options options;
    begin(&options);
    snprintf(options.job.strategy, sizeof options.job.strategy, "ps-async");
    assert_fails(sh_lr_range_begin(&options), SH_INVALID, "--lr-find with --strategy ps-async");
    begin(&options);
    options.resume = "run";
    assert_fails(sh_lr_range_begin(&options), SH_INVALID, "--lr-find with --resume");
    assert_string_equal(options.job.schedule, "constant");
}

static void steps_are_measured(void **state)
{
    (void)state;
    sh_train_options options;
    begin(&options);
    assert_ok(sh_lr_range_begin(&options));
    const sh_schedule schedule = {.epoch_steps = 7, .total_steps = 100};
    sh_progress_report report = {.schedule = &schedule, .steps = 1};
    sh_event event = {.lr = -1};
    sh_lr_range_measure(&event, &options, &report);
    assert_true(fabs(event.lr - 1e-7) < 1e-19);
    report.steps = 100;
    sh_lr_range_measure(&event, &options, &report);
    assert_true(event.lr == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_job_becomes_a_range_test),
        cmocka_unit_test(what_has_no_such_steps_is_refused),
        cmocka_unit_test(steps_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
