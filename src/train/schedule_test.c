/* SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <stdio.h>

#include "train/job_fixture.h"

/* An epoch has every sample once, in consecutive parts, and as many local steps as sync has
 * steps. */
static void an_epoch_falls_into_outer_steps(void **state)
{
    (void)state;
    static const struct {
        uint32_t samples, batch, workers, steps, epoch_steps, local_steps;
    } cases[] = {
        {60000, 64, 4, 8, 118, 938}, {70, 12, 4, 4, 2, 6}, {5, 64, 4, 8, 1, 1},
        {64, 64, 4, 1, 1, 1},        {65, 64, 1, 1, 2, 2}, {512, 64, 8, 65535, 1, 8},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char strategy[SH_STRATEGY_BYTES];
        snprintf(strategy, sizeof strategy, "local:%u", cases[c].steps);
        sh_job job = local_job(strategy);
        job.batch_size = cases[c].batch;
        job.workers = cases[c].workers;
        job.epochs = 3;
        assert_ok(sh_job_complete(&job));
        const sh_schedule schedule = sh_schedule_of(&job, cases[c].samples);
        const sh_schedule local = sh_schedule_local(&schedule);
        assert_int_equal(schedule.epoch_steps, cases[c].epoch_steps);
        assert_int_equal(schedule.total_steps, 3 * cases[c].epoch_steps);
        assert_int_equal(local.epoch_steps, cases[c].local_steps);
        assert_int_equal(local.total_steps, 3 * cases[c].local_steps);
        uint32_t next = 0;
        uint64_t steps = local.epoch_steps;
        const uint32_t batch_of_one = sh_schedule_worker_batch(&schedule);
        for (uint64_t step = 0; step < schedule.epoch_steps; step++) {
            const sh_batch batch = sh_schedule_batch(&schedule, schedule.epoch_steps + step);
            assert_int_equal(sh_schedule_local_before(&schedule, schedule.epoch_steps + step),
                             steps);
            assert_in_range(batch.grains, 1, job.workers);
            for (uint32_t w = 0; w < batch.grains; w++) {
                const sh_range range = sh_batch_grain(&batch, w);
                assert_int_equal(range.first, next);
                assert_in_range(range.count, 1, cases[c].steps * batch_of_one);
                assert_true(w + 1 == batch.grains || range.count == batch.grain);
                next += range.count;
            }
            steps += (batch.grain + batch_of_one - 1) / batch_of_one;
        }
        assert_int_equal(next, cases[c].samples);
        assert_int_equal(steps, 2 * local.epoch_steps);
    }
}

static void every_sample_once_an_epoch(void **state)
{
    (void)state;
    static const uint32_t cases[][3] = {
        {60000, 64, 16}, {10, 64, 16}, {101, 10, 3}, {7, 7, 7}, {5, 2, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sh_job job = some_job();
        job.batch_size = cases[c][1];
        job.grain = cases[c][2];
        job.epochs = 2;
        const sh_schedule schedule = sh_schedule_of(&job, cases[c][0]);
        uint32_t next = 0;
        for (uint64_t step = 0; step < schedule.epoch_steps; step++) {
            const sh_batch batch = sh_schedule_batch(&schedule, schedule.epoch_steps + step);
            assert_int_equal(batch.epoch, 1);
            assert_int_equal(batch.step, step);
            for (uint32_t g = 0; g < batch.grains; g++) {
                const sh_range range = sh_batch_grain(&batch, g);
                assert_int_equal(range.first, next);
                assert_in_range(range.count, 1, job.grain);
                next += range.count;
            }
        }
        assert_int_equal(next, cases[c][0]);
    }
}

static void scaled_shares_have_no_gaps(void **state)
{
    (void)state;
    for (uint32_t devices = 1; devices <= 7; devices++)
        for (uint32_t total = 0; total < 20; total++) {
            uint32_t next = 0;
            for (uint32_t d = 0; d < devices; d++) {
                const uint32_t first = 4 * d / devices, end = 4 * (d + 1) / devices;
                const sh_range part = sh_range_scale((sh_range){first, end - first}, 4, total);
                assert_int_equal(part.first, next);
                next += part.count;
            }
            assert_int_equal(next, total);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_falls_into_outer_steps),
        cmocka_unit_test(every_sample_once_an_epoch),
        cmocka_unit_test(scaled_shares_have_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
