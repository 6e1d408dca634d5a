/* SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <math.h>
#include <stdio.h>

#include "base/test.h"

static sh_job some_job(void)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "digits");
    return job;
}

static void bad_fields_are_refused(void **state)
{
    (void)state;
#define REFUSED(field, value, code, part)                                                          \
    do {                                                                                           \
        sh_job job = some_job();                                                                   \
        job.field = value;                                                                         \
        assert_fails(sh_job_complete(&job), code, part);                                           \
    } while (0)
    REFUSED(batch_size, 0, SH_INVALID, "--batch-size 0: must be 1");
    REFUSED(batch_size, 1u << 30, SH_INVALID, "--batch-size 1073741824");
    REFUSED(grain, 65, SH_INVALID, "--grain 65: larger than the batch of 64");
    REFUSED(lr, -0.1f, SH_INVALID, "--lr -0.1: must be a number of at least 0");
    REFUSED(lr, NAN, SH_INVALID, "--lr nan");
    REFUSED(lr, INFINITY, SH_INVALID, "--lr inf");
    REFUSED(momentum, 1.0f, SH_INVALID, "--momentum 1");
    REFUSED(weight_decay, -1.0f, SH_INVALID, "--weight-decay -1");
    REFUSED(nesterov, 2, SH_INVALID, "--nesterov: is there or not, 1 or 0, but not 2");
    REFUSED(optimizer[0], 'x', SH_NOT_FOUND, "--optimizer xgd: there is no such optimizer");
    REFUSED(schedule[0], 'x', SH_NOT_FOUND, "--schedule xonstant: there is no such schedule");
    REFUSED(strategy[0], 'x', SH_NOT_FOUND, "--strategy xync: must be sync");
    REFUSED(warmup, -1.0f, SH_INVALID, "--warmup -1: must be a number of epochs");
    REFUSED(clip_norm, -1.0f, SH_INVALID, "--clip-norm -1: must be a number above 0; 0 does not");
    REFUSED(clip_norm, NAN, SH_INVALID, "--clip-norm nan");
    REFUSED(clip_norm, INFINITY, SH_INVALID, "--clip-norm inf");
    REFUSED(epochs, 0, SH_INVALID, "--epochs 0");
    REFUSED(wire, 12, SH_INVALID, "--wire 12: must be 32, 16 or 8 bits");
    REFUSED(wire, 0, SH_INVALID, "--wire 0: must be 32, 16 or 8 bits");
    REFUSED(model[0], '\0', SH_INVALID, "the model is missing");
    REFUSED(data[0], '\0', SH_INVALID, "the data is missing");
    REFUSED(workers, 4, SH_INVALID, "--workers: only --strategy local:H has workers");
    REFUSED(outer_lr, 0.5f, SH_INVALID, "--outer-lr: only --strategy local:H has workers");
    REFUSED(outer_momentum, 0.5f, SH_INVALID, "--outer-momentum: only --strategy local:H has");
#undef REFUSED
}

static void grain_is_chosen_from_the_batch_alone(void **state)
{
    (void)state;
    static const uint32_t known[][2] = {{1, 1}, {2, 1}, {7, 2}, {64, 16}, {65, 16}, {4096, 16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_job job = some_job();
        job.batch_size = known[i][0];
        assert_ok(sh_job_complete(&job));
        assert_int_equal(job.grain, known[i][1]);
    }
}

static sh_job local_job(const char *strategy)
{
    sh_job job = some_job();
    snprintf(job.strategy, sizeof job.strategy, "%s", strategy);
    return job;
}

static void bad_workers_are_refused(void **state)
{
    (void)state;
#define REFUSED(field, value, code, part)                                                          \
    do {                                                                                           \
        sh_job job = local_job("local:8");                                                         \
        job.field = value;                                                                         \
        assert_fails(sh_job_complete(&job), code, part);                                           \
    } while (0)
    REFUSED(workers, 5, SH_INVALID,
            "--workers 5: a batch of 64 does not fall into so many equal parts; give a "
            "--batch-size that does");
    REFUSED(workers, 128, SH_INVALID, "--workers 128: a batch of 64 does not fall");
    REFUSED(workers, UINT32_MAX, SH_INVALID, "--workers 4294967295: must be 1 to 1048576");
    REFUSED(batch_size, 50, SH_INVALID, "--workers 4: a batch of 50 does not fall");
    REFUSED(grain, 17, SH_INVALID, "--grain 17: larger than a worker's 16 samples of a local step");
    REFUSED(outer_lr, 0, SH_INVALID, "--outer-lr 0: must be a number above 0");
    REFUSED(outer_lr, INFINITY, SH_INVALID, "--outer-lr inf: must be");
    REFUSED(outer_lr, NAN, SH_INVALID, "--outer-lr nan: must be");
    REFUSED(outer_momentum, 1, SH_INVALID, "--outer-momentum 1: must be at least 0 and below 1");
    REFUSED(outer_momentum, NAN, SH_INVALID, "--outer-momentum nan: must be");
#undef REFUSED
    sh_job job = local_job("local:0");
    assert_fails(sh_job_complete(&job), SH_INVALID, "--strategy local:0: H must be a whole number");
}

static void workers_are_chosen(void **state)
{
    (void)state;
    static const uint32_t known[][4] = {/* batch, workers, grain; parts of a step */
                                        {64, 0, 16, 4},
                                        {512, 0, 16, 4},
                                        {12, 3, 4, 3},
                                        {8, 8, 1, 8}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_job job = local_job("local:3");
        job.batch_size = known[i][0];
        job.workers = known[i][1];
        assert_ok(sh_job_complete(&job));
        assert_int_equal(job.grain, known[i][2]);
        assert_int_equal(job.workers, known[i][3]);
        assert_int_equal(sh_job_grains(&job), known[i][3]);
        assert_int_equal(sh_job_local_steps(&job), 3);
        assert_ok(sh_job_complete(&job)); /* what is complete stays as it is */
    }
    sh_job sync = some_job();
    assert_ok(sh_job_complete(&sync));
    assert_int_equal(sh_job_local_steps(&sync), 0);
    assert_int_equal(sync.workers, 0);
    assert_int_equal(sh_job_grains(&sync), 4);
}

/* Every sample once an epoch, in consecutive parts; rates follow local steps, which are as many as
 * the steps of sync. */
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

/* Every sample of an epoch is in one grain of one step, whatever the numbers. */
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
        cmocka_unit_test(bad_fields_are_refused),
        cmocka_unit_test(grain_is_chosen_from_the_batch_alone),
        cmocka_unit_test(bad_workers_are_refused),
        cmocka_unit_test(workers_are_chosen),
        cmocka_unit_test(an_epoch_falls_into_outer_steps),
        cmocka_unit_test(every_sample_once_an_epoch),
        cmocka_unit_test(scaled_shares_have_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
