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
    watch.spans[0] = (sh_lane_spans){{100, 20, 30, 700, 400, 100, 40, 10}, {2, 1, 1, 3}};
    watch.spans[1] = (sh_lane_spans){{200, 10, 30, 900, 500, 100, 50, 10}, {3, 1, 1, 3}};
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

typedef struct small_job {
    sh_job job;
    sh_pipeline *pipeline;
    sh_replica *replica;
    const sh_kernels *kernels;
    sh_trainer *trainer;
} small_job;

static sh_part all_grains(void)
{
    return (sh_part){.share = {0, 5}, .of = 5, .engine = sh_engine_solo()};
}

static void small_job_open(small_job *small, const sh_trainer_options *timing)
{
    sh_trainer_options options = *timing;
    sh_job_init(&small->job);
    snprintf(small->job.model, sizeof small->job.model, "lenet");
    snprintf(small->job.data, sizeof small->job.data, "digits:20/8");
    small->job.batch_size = 20;
    small->job.grain = 4;
    assert_ok(sh_job_complete(&small->job));
    assert_ok(
        sh_pipeline_open(&small->pipeline, small->job.data, &(sh_pipeline_options){.resize = 0}));
    assert_ok(sh_kernels_choose(&small->kernels, NULL));
    assert_ok(sh_replica_new(&small->replica, &small->job,
                             &(sh_problem){1, 28, 28, 10, SH_TARGET_CLASS}));
    options.job = &small->job;
    options.pipeline = small->pipeline;
    options.kernels = small->kernels;
    options.replica = small->replica;
    assert_ok(sh_trainer_new(&small->trainer, &options));
}

static void small_job_close(small_job *small)
{
    sh_trainer_free(small->trainer);
    sh_replica_free(small->replica);
    sh_pipeline_close(small->pipeline);
}

static void a_trainer_accounts_for_its_steps(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        atomic_uint_fast64_t now = 0;
        const sh_clock clock = {tick, &now};
        small_job small;
        sh_step_result result;
        sh_sum_totals totals;
        sh_profile profile, later;
        small_job_open(&small, &(sh_trainer_options){.lanes = lanes, .clock = &clock});
        sh_trainer *const trainer = small.trainer;
        const sh_part part = all_grains();
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
        small_job_close(&small);
    }
}

static uint64_t read_hand(void *context)
{
    return *(const uint64_t *)context;
}

static void a_steps_time_is_parted(void **state)
{
    (void)state;
    uint64_t now = 1000;
    const sh_clock clock = {read_hand, &now};
    sh_stopwatch watch;
    sh_step_times times = {.step = 7};
    assert_ok(sh_stopwatch_init(&watch, &clock, 2));
    watch.spans[0].ns[SH_SPAN_READ] = 5; /* before the step */
    watch.turns_ns = 10;
    sh_stopwatch_begin_step(&watch);
    watch.spans[0] = (sh_lane_spans){{105, 20, 30, 800, 400, 100, 40, 40}, {0}};
    watch.spans[1] = (sh_lane_spans){{200, 10, 30, 800, 400, 100, 60, 0}, {0}};
    watch.turns_ns = 1010;
    watch.network_ns = 300;
    now = 2400;
    sh_stopwatch_end_step(&watch, &times);
    const uint64_t expected[SH_PART_COUNT] = {
        [SH_PART_data] = 150,     [SH_PART_forward] = 400,        [SH_PART_backward] = 100,
        [SH_PART_sum] = 15 + 50,  [SH_PART_optimizer] = 50 + 100, [SH_PART_lanes] = 200,
        [SH_PART_exchange] = 300,
    };
    for (int i = 0; i < SH_PART_COUNT; i++)
        if (times.ns[i] != expected[i])
            fail_msg("%s: %u", sh_step_part_name((sh_step_part)i), (unsigned)times.ns[i]);
    assert_int_equal(times.step, 7);
    assert_int_equal(times.ends_ns, 2400);
    assert_int_equal(times.wall_ns, 1400);
    now = 2500;
    sh_stopwatch_begin_step(&watch);
    now = 3000;
    sh_stopwatch_end_step(&watch, &times);
    assert_int_equal(times.wall_ns, 600);
    assert_int_equal(times.ns[SH_PART_between], 100);
    assert_int_equal(times.ns[SH_PART_optimizer], 500);
    now = 4000; /* a validation */
    sh_stopwatch_interrupt(&watch);
    sh_stopwatch_begin_step(&watch);
    now = 4100;
    sh_stopwatch_end_step(&watch, &times);
    assert_int_equal(times.wall_ns, 100);
    assert_int_equal(times.ns[SH_PART_between], 0);
    sh_stopwatch_release(&watch);
}

#define ACCOUNTED 20 /* steps */

typedef struct account {
    uint64_t steps, wall_ns;
    double found[ACCOUNTED]; /* by step: its parts divided by its wall time */
} account;

static void take_account(void *context, const sh_step_times *times)
{
    account *a = context;
    uint64_t parts = 0;
    assert_true(a->steps < ACCOUNTED);
    a->steps++;
    assert_int_equal(times->step, a->steps);
    assert_int_equal(times->grains, 5);
    assert_int_equal(times->samples, 20);
    for (int i = 0; i < SH_PART_COUNT; i++) {
        if (i < SH_PART_lanes)
            assert_true(times->ns[i] > 0);
        parts += times->ns[i];
    }
    a->wall_ns += times->wall_ns;
    a->found[a->steps - 1] = (double)parts / (double)times->wall_ns;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* With the system's clock. The wall times of the steps also add up to that of all steps. Checks the
 * median step, because another process may interrupt a step. */
static void parts_add_up(void **state)
{
    (void)state;
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        account a = {0};
        small_job small;
        sh_step_result result;
        small_job_open(&small, &(sh_trainer_options){.lanes = lanes,
                                                     .times = sh_clock_system(),
                                                     .on_times = take_account,
                                                     .context = &a});
        const sh_part part = all_grains();
        const uint64_t begun_ns = sh_clock_now_ns(sh_clock_system());
        for (int i = 0; i < ACCOUNTED; i++)
            assert_ok(sh_trainer_step(small.trainer, &part, &result));
        const uint64_t took_ns = sh_clock_now_ns(sh_clock_system()) - begun_ns;
        assert_int_equal(a.steps, ACCOUNTED);
        assert_true(a.wall_ns <= took_ns && (double)a.wall_ns > 0.95 * (double)took_ns);
        qsort(a.found, ACCOUNTED, sizeof *a.found, by_size);
        const double found = a.found[ACCOUNTED / 2];
        if (fabs(found - 1) > 0.005)
            fail_msg("%u lanes: the parts are %.4f of the wall time", lanes, found);
        print_message("%u lanes: the parts are %.4f of the wall time\n", lanes, found);
        small_job_close(&small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steps_time_is_parted),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(spans_become_rows),
        cmocka_unit_test(one_that_is_off_looks_at_no_clock),
        cmocka_unit_test(a_trainer_accounts_for_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
