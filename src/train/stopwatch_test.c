/* SPDX-License-Identifier: Apache-2.0 */
#include "train/stopwatch.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/test.h"
#include "train/trainer.h"

static uint64_t tick(void *context)
{
    return atomic_fetch_add((atomic_uint_fast64_t *)context, 100) + 100;
}

static double seconds_of(const sh_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->row_count; i++)
        if (profile->rows[i].kind != SH_PROFILE_NODE && strcmp(profile->rows[i].name, name) == 0)
            return profile->rows[i].seconds;
    return 0;
}

static void spans_become_rows(void **state)
{
    (void)state;
    atomic_uint_fast64_t now = 0;
    const sh_clock clock = {tick, &now};
    sh_stopwatch watch;
    sh_profile profile = {0};
    assert_ok(sh_stopwatch_init(&watch, &clock, 2));
    watch.spans[0] = (sh_lane_spans){{100, 20, 30, 700}, {2, 1, 1, 3}};
    watch.spans[1] = (sh_lane_spans){{200, 10, 30, 900}, {3, 1, 1, 3}};
    watch.turns_ns = 1000;
    watch.network_ns = 50;
    watch.steps_ns = 1100;
    watch.steps = 1;
    assert_ok(sh_stopwatch_report(&watch, &profile));
    assert_int_equal(profile.lanes, 2);
    assert_true(fabs(seconds_of(&profile, "reading samples") - 300e-9) < 1e-15);
    assert_true(fabs(seconds_of(&profile, SH_PROFILE_SUM) - 30e-9) < 1e-15);
    assert_true(fabs(seconds_of(&profile, "optimizer") - 60e-9) < 1e-15);
    assert_true(fabs(seconds_of(&profile, "waiting for lanes") - 400e-9) < 1e-15);
    assert_true(fabs(seconds_of(&profile, "network") - 100e-9) < 1e-15);
    assert_true(fabs(profile.step_seconds - 1100e-9) < 1e-15);
    sh_stopwatch_clear(&watch);
    sh_profile_release(&profile);
    assert_ok(sh_stopwatch_report(&watch, &profile));
    assert_true(seconds_of(&profile, "reading samples") == 0);
    sh_profile_release(&profile);
    sh_stopwatch_release(&watch);
}

static void one_that_is_off_looks_at_no_clock(void **state)
{
    (void)state;
    sh_stopwatch watch;
    uint64_t sum = 0;
    assert_ok(sh_stopwatch_init(&watch, NULL, 4));
    sh_stopwatch_add(&watch, 3, SH_SPAN_READ, sh_stopwatch_now(&watch));
    sh_stopwatch_since(&watch, &sum, 0);
    assert_int_equal(sum, 0);
    sh_stopwatch_clear(&watch);
    sh_stopwatch_release(&watch);
}

/* Steps of a real trainer: what is counted is the whole, and validation is no step. */
static void a_trainer_accounts_for_its_steps(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        atomic_uint_fast64_t now = 0;
        const sh_clock clock = {tick, &now};
        sh_job job;
        sh_pipeline *pipeline;
        sh_replica *replica;
        sh_trainer *trainer;
        sh_backend_list backends;
        sh_step_result result;
        sh_sum_totals totals;
        sh_profile profile, later;
        sh_job_init(&job);
        snprintf(job.model, sizeof job.model, "lenet");
        snprintf(job.data, sizeof job.data, "digits:20/8");
        job.batch_size = 20;
        job.grain = 4;
        assert_ok(sh_job_complete(&job));
        assert_ok(sh_pipeline_open(&pipeline, job.data, &(sh_pipeline_options){.resize = 0}));
        assert_ok(sh_backend_choose(&backends, NULL));
        assert_ok(sh_replica_new(&replica, &job, &(sh_problem){1, 28, 28, 10}));
        assert_ok(sh_trainer_new(&trainer, &(sh_trainer_options){.job = &job,
                                                                 .pipeline = pipeline,
                                                                 .backends = &backends,
                                                                 .replica = replica,
                                                                 .lanes = lanes,
                                                                 .clock = &clock}));
        const sh_part part = {.share = {0, 5}, .of = 5, .engine = sh_engine_solo()};
        assert_ok(sh_trainer_step(trainer, &part, &result));
        sh_trainer_clear_times(trainer);
        assert_ok(sh_trainer_step(trainer, &part, &result));
        assert_ok(sh_trainer_profile(trainer, &profile, SH_PROFILE_OPERATORS));
        assert_ok(sh_trainer_evaluate(trainer, &part, &totals));
        assert_ok(sh_trainer_profile(trainer, &later, SH_PROFILE_OPERATORS));

        double share = 0;
        uint64_t loss_count = 0;
        for (size_t i = 0; i < profile.row_count; i++) {
            share += profile.rows[i].share;
            if (strcmp(profile.rows[i].name, "cross_entropy") == 0)
                loss_count = profile.rows[i].count;
        }
        assert_true(fabs(share - 1) < 1e-9);
        assert_int_equal(profile.steps, 1);
        assert_int_equal(profile.lanes, lanes);
        assert_int_equal(loss_count, 5 * (1 + result.redone));
        assert_true(seconds_of(&profile, "rest") >= 0);
        assert_true(seconds_of(&profile, "optimizer") > 0);
        assert_true(seconds_of(&profile, SH_PROFILE_SUM) > 0);
        assert_true(later.step_seconds == profile.step_seconds);
        assert_true(seconds_of(&later, "reading samples") ==
                    seconds_of(&profile, "reading samples"));
        sh_profile_release(&profile);
        sh_profile_release(&later);
        sh_trainer_free(trainer);
        sh_replica_free(replica);
        sh_pipeline_close(pipeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_become_rows),
        cmocka_unit_test(one_that_is_off_looks_at_no_clock),
        cmocka_unit_test(a_trainer_accounts_for_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
