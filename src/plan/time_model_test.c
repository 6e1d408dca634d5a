/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/time_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "model/model.h"

static void near_to(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected) + 1e-15))
        fail_msg("got %.12g, expected %.12g", got, expected);
}

static sh_measurement work(const char *name, uint64_t class, double size, double flops,
                           double bytes, double seconds)
{
    sh_measurement one = sh_measurement_named(name, size);
    one.class = class;
    one.flops = flops;
    one.bytes = bytes;
    one.seconds = seconds;
    return one;
}

static void learn(sh_measurements *known, sh_measurement one)
{
    assert_ok(sh_measurements_add(known, &one));
}

static double ask(const sh_measurements *known, sh_measurement one)
{
    return sh_time_of(known, &one);
}

static void sizes_lie_on_lines(void **state)
{
    (void)state;
    sh_measurements known = {.lanes = 1, .matrix = {1e9, 1e9}, .triad = {1e9, 1e9}};
    learn(&known, work("conv2d", 7, 16, 0, 0, 20e-3));
    learn(&known, work("conv2d", 7, 4, 0, 0, 8e-3));
    learn(&known, work("conv2d", 7, 32, 0, 0, 36e-3));
    learn(&known, work("conv2d", 9, 4, 0, 0, 1));
    learn(&known, work("relu", 7, 4, 0, 0, 1));
    static const struct {
        double size, seconds;
    } cases[] = {
        {4, 8e-3},     {16, 20e-3}, {32, 36e-3},
        {8, 12e-3},    {24, 28e-3}, {64, 68e-3}, /* extrapolated from the two largest */
        {2, 6e-3},                               /* extrapolated from the two smallest */
        {0.5, 4.5e-3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        near_to(ask(&known, work("conv2d", 7, cases[i].size, 0, 0, 0)), cases[i].seconds);

    learn(&known, work("conv2d", 8, 4, 0, 0, 8e-3)); /* one alone: proportional */
    near_to(ask(&known, work("conv2d", 8, 16, 0, 0, 0)), 32e-3);
    near_to(ask(&known, work("conv2d", 8, 1, 0, 0, 0)), 2e-3);
    sh_measurements_release(&known);
}

static void beyond_what_was_measured_time_stays_near_proportion(void **state)
{
    (void)state;
    sh_measurements known = {.lanes = 1};
    learn(&known, work("a", 1, 16, 0, 0, 20e-3));
    learn(&known, work("a", 1, 32, 0, 0, 19e-3)); /* less than for half the size */
    learn(&known, work("b", 1, 16, 0, 0, 1e-3));
    learn(&known, work("b", 1, 32, 0, 0, 19e-3));
    near_to(ask(&known, work("a", 1, 64, 0, 0, 0)), 19e-3 + 32 * 0.5 * 19e-3 / 32);
    near_to(ask(&known, work("a", 1, 8, 0, 0, 0)), 20e-3); /* at most the smallest */
    near_to(ask(&known, work("b", 1, 64, 0, 0, 0)), 19e-3 + 32 * 1.5 * 19e-3 / 32);
    near_to(ask(&known, work("b", 1, 8, 0, 0, 0)), 0.5e-3); /* at least proportional */
    sh_measurements_release(&known);
}

static void times_of_the_same_are_averaged_by_their_count(void **state)
{
    (void)state;
    sh_measurements known = {.lanes = 1};
    for (int i = 1; i <= 3; i++)
        learn(&known, work("a", 1, 4, 0, 0, i * 1e-3));
    near_to(ask(&known, work("a", 1, 4, 0, 0, 0)), 2e-3);
    assert_int_equal(known.count, 1);
    assert_int_equal(known.items[0].count, 3);
    sh_measurement often = work("a", 1, 4, 0, 0, 6e-3); /* counts like those before */
    often.count = 3;
    learn(&known, often);
    near_to(ask(&known, work("a", 1, 4, 0, 0, 0)), 4e-3);
    often.count = SH_MEASUREMENT_COUNT_MOST;
    learn(&known, often);
    assert_int_equal(known.items[0].count, SH_MEASUREMENT_COUNT_MOST);
    sh_measurements_release(&known);
}

/* The neighbours took twice and four times their bound. */
static void neighbours_tell_how_far_from_the_bound(void **state)
{
    (void)state;
    sh_measurements known = {.lanes = 2, .matrix = {1e9, 2e9}, .triad = {1e9, 2e9}};
    const double least = 2e-7; /* of any instruction */
    learn(&known, work("conv2d", 1, 4, 1e8, 1e3, 2 * (0.1 + least)));
    near_to(ask(&known, work("conv2d", 2, 4, 1e6, 1e3, 0)), 2 * (1e-3 + least));
    learn(&known, work("conv2d", 3, 4, 1e4, 1e3, 4 * (1e-5 + least)));
    const double nearer_fast = ask(&known, work("conv2d", 2, 4, 5e7, 1e3, 0)) / (5e-2 + least);
    const double nearer_slow = ask(&known, work("conv2d", 2, 4, 2e4, 1e3, 0)) / (2e-5 + least);
    assert_true(nearer_fast > 2 && nearer_fast < 2.3);
    assert_true(nearer_slow < 4 && nearer_slow > 3.6);
    for (int i = 0; i < 40; i++) /* distant ones change nothing */
        learn(&known, work("conv2d", 100 + (uint64_t)i, 4, 1e12 + i, 1e9, 50 * 1e3));
    const double still = ask(&known, work("conv2d", 2, 4, 5e7, 1e3, 0)) / (5e-2 + least);
    assert_true(still > 2 && still < 2.5);
    sh_measurements_release(&known);
}

static void what_was_never_measured_is_bound_by_the_peaks(void **state)
{
    (void)state;
    sh_measurements known = {
        .lanes = 4, .matrix = {1e9, 4e9}, .convolution = {2e9, 8e9}, .triad = {1e9, 2e9}};
    near_to(ask(&known, work("gelu", 1, 4, 2e9, 0, 0)), 1 + 2e-7);
    near_to(ask(&known, work("gelu", 1, 4, 0, 1e9, 0)), 2 + 2e-7);
    sh_measurements nothing = {0};
    const double blind = ask(&nothing, work("gelu", 1, 4, 1e9, 1e6, 0));
    assert_true(blind > 0.01 && blind < 1);
}

static void grains_are_whole(void **state)
{
    (void)state;
    sh_measurements known = {.lanes = 2};
    static const struct {
        uint32_t lanes, grains, last;
        double seconds;
    } cases[] = {
        {2, 4, 0, 2},   {2, 5, 0, 3},   {1, 5, 0, 5},
        {4, 1, 0, 1},   {2, 4, 3, 2.5}, {2, 3, 3, 2}, /* the short one runs beside the third */
        {1, 2, 3, 2.5}, {3, 0, 3, 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_step_shape shape = {.lanes = cases[i].lanes,
                                     .grains = cases[i].grains,
                                     .grain_samples = 8,
                                     .last_samples = cases[i].last,
                                     .grain = {.run = 1},
                                     .last = {.run = 0.5}};
        near_to(sh_time_of_step(&known, &shape).seconds, cases[i].seconds);
    }
}

static void a_step_has_its_parts(void **state)
{
    (void)state;
    sh_measurements known = {.lanes = 2};
    learn(&known, work(SH_TIME_CLEAR, 0, 1000, 0, 0, 4e-3));
    learn(&known, work(SH_TIME_APPLY, 0, 5000, 0, 0, 20e-3));
    learn(&known, work(SH_TIME_GRAIN, 0, 8, 0, 0, 1e-3));
    learn(&known, work(SH_TIME_STEP, 0, 1, 0, 0, 5e-4));
    learn(&known, work(SH_TIME_LAG, 0, 1, 0, 0, 0.05));
    assert_int_equal(sh_optimizer_words(1000, 1), 5000);
    const sh_step_time step = sh_time_of_step(&known, &(sh_step_shape){
                                                          .lanes = 2,
                                                          .grains = 4,
                                                          .grain_samples = 8,
                                                          .grain = {.run = 0.1, .prepare = 7e-3},
                                                          .read_seconds = 1e-3,
                                                          .weights = 1000,
                                                          .optimizer_words = 5000,
                                                      });
    near_to(step.compute, 2 * (0.1 + 8e-3 + 1e-3));
    near_to(step.prepare, 7e-3 + 2e-3);
    near_to(step.optimizer, 10e-3);
    near_to(step.other, 5e-4 + 0.05 * step.compute); /* the last lane's lag */
    near_to(step.seconds, step.compute + step.prepare + step.optimizer + step.other);
    sh_measurements_release(&known);
}

/* Two sizes predict a third exactly: so a class does not depend on the size. */
static void programs_of_other_sizes_are_told_exactly(void **state)
{
    (void)state;
    static const sh_model_options model = {.spec = "lenet",
                                           .problem = {1, 28, 28, 10, SH_TARGET_CLASS}};
    static const uint32_t sizes[] = {4, 16, 10, 50}; /* two are also channel counts */
    sh_measurements known = {.lanes = 1};
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        sh_graph *graph;
        sh_program *program;
        assert_ok(sh_model_build(&graph, &model, sizes[s], SH_MODEL_TRAIN));
        assert_ok(sh_program_compile(&program, graph, kernels));
        double expected = 0, prepared = 0, *by_node = calloc(graph->node_count, sizeof *by_node);
        assert_non_null(by_node);
        for (size_t i = 0; i < sh_program_length(program); i++) {
            const sh_work what = sh_program_work(program, i);
            sh_measurement one = sh_measurement_of(&what, graph, sizes[s]);
            one.seconds = 1e-5 + 1e-6 * one.size;
            *(what.prepares ? &prepared : &expected) += one.seconds;
            if (s < 2)
                learn(&known, one);
        }
        if (s >= 2) {
            const sh_program_time time =
                sh_time_of_program(&known, program, graph, sizes[s], by_node);
            double nodes = 0;
            for (size_t i = 0; i < graph->node_count; i++)
                nodes += by_node[i];
            near_to(time.run, expected);
            near_to(nodes, expected);
            near_to(time.prepare, prepared);
            assert_true(prepared > 0);
        }
        free(by_node);
        sh_program_free(program);
        sh_graph_free(graph);
    }
    sh_measurements_release(&known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_lie_on_lines),
        cmocka_unit_test(beyond_what_was_measured_time_stays_near_proportion),
        cmocka_unit_test(times_of_the_same_are_averaged_by_their_count),
        cmocka_unit_test(neighbours_tell_how_far_from_the_bound),
        cmocka_unit_test(what_was_never_measured_is_bound_by_the_peaks),
        cmocka_unit_test(grains_are_whole),
        cmocka_unit_test(a_step_has_its_parts),
        cmocka_unit_test(programs_of_other_sizes_are_told_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
