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
    REFUSED(wire, 16, SH_UNSUPPORTED, "--wire 16");
    REFUSED(model[0], '\0', SH_INVALID, "the model is missing");
    REFUSED(data[0], '\0', SH_INVALID, "the data is missing");
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
        cmocka_unit_test(every_sample_once_an_epoch),
        cmocka_unit_test(scaled_shares_have_no_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
