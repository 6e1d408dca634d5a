/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/profiler.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/test.h"
#include "model/model.h"

static uint64_t tick(void *context)
{
    return *(uint64_t *)context += 1000;
}

static void ignore(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    (void)parameter;
    *(unsigned *)context += gradient->last;
}

typedef struct machine {
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    float *weights, *parameters[16];
} machine;

static machine machine_new(const char *variant, const sh_clock *clock)
{
    static const sh_model_options model = {.spec = "lenet",
                                           .problem = {1, 28, 28, 10, SH_TARGET_CLASS}};
    machine m = {0};
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, variant));
    assert_ok(sh_model_build(&m.graph, &model, 2, SH_MODEL_TRAIN));
    assert_ok(sh_program_compile(&m.program, m.graph, kernels));
    assert_ok(sh_block_new(&m.lane, sh_program_lane_bytes(m.program), "a test"));
    assert_ok(sh_block_new(&m.shared, sh_program_shared_bytes(m.program), "a test"));
    m.weights = calloc(sh_model_weights(m.graph), sizeof *m.weights);
    assert_non_null(m.weights);
    float *next = m.weights;
    for (size_t i = 0; i < m.graph->parameter_count; i++) {
        m.parameters[i] = next;
        next += sh_shape_count(&sh_graph_type(m.graph, m.graph->parameters[i].value)->shape);
    }
    assert_ok(sh_execution_new(&m.execution, m.program, m.lane, m.shared, m.parameters));
    if (clock != NULL)
        assert_ok(sh_execution_watch(m.execution, clock));
    return m;
}

static void machine_free(machine *m)
{
    sh_execution_free(m->execution);
    sh_program_free(m->program);
    sh_graph_free(m->graph);
    free(m->lane);
    free(m->shared);
    free(m->weights);
}

static const sh_profile_row *row_of(const sh_profile *profile, sh_profile_kind kind,
                                    const char *name)
{
    for (size_t i = 0; i < profile->row_count; i++)
        if (profile->rows[i].kind == kind && strcmp(profile->rows[i].name, name) == 0)
            return &profile->rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void every_instruction_is_timed(void **state)
{
    (void)state;
    uint64_t now = 0;
    unsigned sinks = 0;
    uint64_t timed = 0;
    const sh_clock clock = {tick, &now};
    machine m = machine_new(NULL, &clock);
    assert_ok(sh_execution_prepare(m.execution));
    const sh_work_time *times = sh_execution_times(m.execution);
    for (int run = 0; run < 3; run++)
        assert_ok(sh_execution_run(m.execution, ignore, &sinks));
    for (size_t i = 0; i < sh_program_length(m.program); i++) {
        const sh_work work = sh_program_work(m.program, i);
        timed += times[i].ns;
        assert_int_equal(times[i].count, work.prepares ? 1 : 3);
        assert_int_equal(times[i].ns % (times[i].count * 1000), 0);
        assert_true(times[i].ns >= times[i].count * 1000);
    }
    assert_int_equal(now, 4 * 1000 + timed); /* one reading before each pass */
    assert_int_equal(sinks, 3 * m.graph->parameter_count);
    sh_execution_clear_times(m.execution);
    assert_int_equal(times[0].count, 0);
    assert_int_equal(times[sh_program_length(m.program) - 1].ns, 0);
    machine_free(&m);
}

static void without_a_clock_nothing_is_kept(void **state)
{
    (void)state;
    unsigned sinks = 0;
    sh_profile profile = {.lanes = 1};
    machine m = machine_new(NULL, NULL);
    assert_ok(sh_execution_prepare(m.execution));
    assert_ok(sh_execution_run(m.execution, ignore, &sinks));
    assert_null(sh_execution_times(m.execution));
    assert_ok(
        sh_profile_add_execution(&profile, m.execution, m.program, m.graph, SH_PROFILE_NODES));
    assert_int_equal(profile.row_count, 0);
    machine_free(&m);
}

static void instructions_know_their_nodes(void **state)
{
    (void)state;
    static const char *const variants[] = {"plain", NULL};
    for (int b = 0; b < 2; b++) {
        machine m = machine_new(variants[b], NULL);
        bool *seen = calloc(m.graph->node_count, sizeof *seen);
        assert_non_null(seen);
        size_t sinks = 0, firsts = 0;
        for (size_t i = 0; i < sh_program_length(m.program); i++) {
            const sh_work work = sh_program_work(m.program, i);
            assert_true(work.bytes > 0);
            sinks += work.kind == SH_WORK_SINK;
            if (work.kind == SH_WORK_REORDER)
                assert_true(work.value < m.graph->value_count);
            if (work.kind != SH_WORK_NODE)
                continue;
            assert_true(work.node < m.graph->node_count);
            assert_int_equal(work.value, m.graph->nodes[work.node].out[0]);
            assert_int_equal(work.continues, seen[work.node]);
            firsts += !work.continues;
            seen[work.node] = true;
        }
        assert_int_equal(sinks, m.graph->parameter_count);
        for (size_t i = 0; i < m.graph->node_count; i++)
            if (!seen[i])
                assert_int_equal(m.graph->nodes[i].op, SH_OP_reshape);
        assert_true(firsts > 10);
        free(seen);
        machine_free(&m);
    }
}

static void rows_make_the_whole(void **state)
{
    (void)state;
    uint64_t now = 0;
    unsigned sinks = 0;
    const sh_clock clock = {tick, &now};
    machine m = machine_new(NULL, &clock);
    for (int run = 0; run < 2; run++)
        assert_ok(sh_execution_run(m.execution, ignore, &sinks));
    sh_profile profile = {.lanes = 2, .steps = 1, .step_seconds = 1e-3};
    assert_ok(
        sh_profile_add_execution(&profile, m.execution, m.program, m.graph, SH_PROFILE_NODES));
    assert_ok(sh_profile_add(&profile, "reading samples", 4, 100e-6));
    assert_ok(sh_profile_add(&profile, "network", 0, 0));
    assert_ok(sh_profile_finish(&profile));

    double share = 0, nodes = 0;
    size_t kinds[3] = {0};
    for (size_t i = 0; i < profile.row_count; i++) {
        const sh_profile_row *row = &profile.rows[i];
        kinds[row->kind]++;
        *(row->kind == SH_PROFILE_NODE ? &nodes : &share) += row->share;
        if (i > 0 && row->kind == row[-1].kind && strcmp(row->name, "rest") != 0)
            assert_true(row->seconds <= row[-1].seconds);
    }
    assert_true(fabs(share - 1) < 1e-12);
    assert_true(nodes > 0 && nodes < 1);
    assert_true(kinds[SH_PROFILE_NODE] > kinds[SH_PROFILE_OPERATOR]);
    assert_int_equal(kinds[SH_PROFILE_OUTSIDE], 3);

    /* 2 * (2 * 11520 * 25 + 2 * 3200 * 500) products for two samples. */
    const sh_profile_row *conv = row_of(&profile, SH_PROFILE_OPERATOR, "conv2d");
    assert_int_equal(conv->count, 4);
    assert_true(fabs(conv->seconds - 4e-6) < 1e-12);
    assert_true(conv->flops == 2.0 * 2 * (2 * 11520.0 * 25 + 2 * 3200.0 * 500));
    assert_int_equal(row_of(&profile, SH_PROFILE_OUTSIDE, SH_PROFILE_SUM)->count,
                     2 * m.graph->parameter_count);
    assert_non_null(strstr(row_of(&profile, SH_PROFILE_NODE, "conv2d")->detail, "-> 2x"));
    assert_string_equal(sh_profile_bottleneck(&profile)->name, "reading samples");
    sh_profile_release(&profile);
    assert_null(sh_profile_bottleneck(&profile));
    machine_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction_is_timed),
        cmocka_unit_test(without_a_clock_nothing_is_kept),
        cmocka_unit_test(instructions_know_their_nodes),
        cmocka_unit_test(rows_make_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
