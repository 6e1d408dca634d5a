/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation and execution apart from operators' results (ops_test.c). */
#include "backend/program.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/team.h"
#include "base/test.h"
#include "graph/layers.h"
#include "model/model.h"

/* The sinks called so far: '0' .. '9'. */
static char called[256];

static void note(char what)
{
    const size_t used = strlen(called);
    assert_true(used + 1 < sizeof called);
    called[used] = what;
    called[used + 1] = '\0';
}

static const sh_kernels *best(void)
{
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    return kernels;
}

/* ---- machines -------------------------------------------------------------------------------- */

#define GUARD_BYTES 256
#define GUARD 0x5a

/* Guards surround the lane's and the shared memory. */
typedef struct machine {
    sh_program *program;
    sh_execution *execution;
    unsigned char *lane, *shared;
} machine;

static unsigned char *guarded_new(size_t bytes)
{
    void *block = NULL;
    assert_ok(sh_block_new(&block, bytes + 2 * GUARD_BYTES, "a test"));
    memset(block, GUARD, bytes + 2 * GUARD_BYTES);
    return block;
}

static void guarded_free(unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (block[i] != GUARD || block[GUARD_BYTES + bytes + i] != GUARD)
            fail_msg("byte %zu beside the memory was written", i);
    free(block);
}

static machine start(const sh_graph *graph, const sh_kernels *kernels, float *const *parameters)
{
    machine m = {0};
    assert_ok(sh_program_compile(&m.program, graph, kernels));
    m.lane = guarded_new(sh_program_lane_bytes(m.program));
    m.shared = guarded_new(sh_program_shared_bytes(m.program));
    assert_ok(sh_execution_new(&m.execution, m.program, m.lane + GUARD_BYTES,
                               m.shared + GUARD_BYTES, parameters));
    return m;
}

static void stop(machine *m)
{
    sh_execution_free(m->execution);
    guarded_free(m->lane, sh_program_lane_bytes(m->program));
    guarded_free(m->shared, sh_program_shared_bytes(m->program));
    sh_program_free(m->program);
}

static sh_graph *new_graph(void)
{
    sh_graph *graph = NULL;
    assert_ok(sh_graph_new(&graph));
    called[0] = 0;
    return graph;
}

static const sh_type eight = {SH_F32, {1, {8}}};

static sh_value_id apply(sh_graph *graph, sh_op op, sh_value_id a, sh_value_id b)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    return sh_graph_add(graph, op, NULL, (sh_value_id[]){a, b, SH_NO_VALUE, SH_NO_VALUE}, out);
}

static void fill(void *data, const float values[8])
{
    memcpy(data, values, 8 * sizeof *values);
}

static void expect_floats(const void *data, size_t count, const float *expected)
{
    for (size_t i = 0; i < count; i++)
        if (((const float *)data)[i] != expected[i])
            fail_msg("element %zu is %g, expected %g", i, (double)((const float *)data)[i],
                     (double)expected[i]);
}

static const float up[8] = {-3, -2, -1, 0, 1, 2, 3, 4};
static const float odd[8] = {10, 20, 30, 40, 50, 60, 70, 80};

/* ---- compilation ----------------------------------------------------------------------------- */

static size_t count_work(const sh_program *program, enum sh_work_kind kind, bool prepares)
{
    size_t count = 0;
    for (size_t i = 0; i < sh_program_length(program); i++) {
        const sh_work work = sh_program_work(program, i);
        count += work.kind == kind && work.prepares == prepares;
    }
    return count;
}

static sh_value_id pixels(sh_graph *graph, size_t channels, size_t side)
{
    return sh_graph_input(graph,
                          (sh_type){SH_F32, sh_shape_of(4, (size_t[]){4, channels, side, side})});
}

static sh_value_id small_network(sh_graph *graph, size_t channels)
{
    sh_net net = {.graph = graph};
    sh_value_id x = sh_layer_conv2d(&net, pixels(graph, channels, 12), "c1",
                                    &(sh_conv_options){.channels = 20, .kernel = 3});
    x = sh_layer_relu(&net, sh_layer_max_pool(&net, x, &(sh_pool_options){.kernel = 2}));
    return sh_layer_conv2d(&net, x, "c2", &(sh_conv_options){.channels = 33, .kernel = 3});
}

static void nothing_is_converted_between_convolutions(void **state)
{
    (void)state;
    sh_program *program;
    sh_graph *graph = new_graph();
    sh_graph_output(graph, small_network(graph, 3));
    assert_ok(sh_program_compile(&program, graph, best()));
    assert_int_equal(count_work(program, SH_WORK_REORDER, false), 2);
    assert_int_equal(count_work(program, SH_WORK_REORDER, true), 2);
    assert_true(sh_program_shared_bytes(program) >= sizeof(float) * 9 * (20 * 3 + 33 * 20));
    sh_program_free(program);
    sh_graph_free(graph);
    graph = new_graph();
    sh_graph_output(graph, small_network(graph, 1)); /* one channel: the same layouts */
    assert_ok(sh_program_compile(&program, graph, best()));
    assert_int_equal(count_work(program, SH_WORK_REORDER, false), 1);
    sh_program_free(program);
    sh_graph_free(graph);
}

static void values_are_converted_once_for_each_layout(void **state)
{
    (void)state;
    sh_program *program;
    sh_graph *graph = new_graph();
    sh_net net = {.graph = graph};
    const sh_value_id x = pixels(graph, 3, 8);
    for (int i = 0; i < 3; i++)
        sh_graph_output(graph,
                        sh_layer_max_pool(&net, x, &(sh_pool_options){.kernel = (size_t)i + 1}));
    assert_ok(sh_program_compile(&program, graph, best()));
    assert_int_equal(count_work(program, SH_WORK_REORDER, false), 1 + 3);
    sh_program_free(program);
    sh_graph_free(graph);
}

static void what_comes_from_weights_alone_is_prepared_once(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, eight);
    const sh_value_id w = sh_graph_parameter(graph, "w", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id v = sh_graph_parameter(graph, "v", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id made =
        apply(graph, SH_OP_add, sh_layer_relu(&(sh_net){.graph = graph}, w), v);
    sh_graph_output(graph,
                    apply(graph, SH_OP_add, sh_layer_relu(&(sh_net){.graph = graph}, x), made));
    float first[8], second[8];
    fill(first, up);
    fill(second, odd);
    machine m = start(graph, best(), (float *const[]){first, second});
    assert_ok(sh_execution_prepare(m.execution));
    assert_int_equal(count_work(m.program, SH_WORK_NODE, true), 2);
    assert_int_equal(count_work(m.program, SH_WORK_NODE, false), 2);
    for (int i = 0; i < 2; i++) {
        fill(sh_execution_input(m.execution, 0), odd);
        assert_ok(sh_execution_run(m.execution, NULL, NULL));
        expect_floats(sh_execution_output(m.execution, 0), 8,
                      (float[]){20, 40, 60, 80, 101, 122, 143, 164});
    }

    void *lane = NULL;
    sh_execution *other = NULL;
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(m.program), "a test"));
    assert_ok(sh_execution_new(&other, m.program, lane, m.shared + GUARD_BYTES,
                               (float *const[]){first, second}));
    fill(sh_execution_input(other, 0), up);
    assert_ok(sh_execution_run(other, NULL, NULL));
    expect_floats(sh_execution_output(other, 0), 8, (float[]){10, 20, 30, 40, 52, 64, 76, 88});
    sh_execution_free(other);
    free(lane);

    /* New weights count after the next preparation. Part 0 prepares what depends on prepared
     * values. */
    first[0] = 5;
    assert_ok(sh_execution_prepare_part(m.execution, 1, 2));
    assert_ok(sh_execution_prepare_part(m.execution, 0, 2));
    fill(sh_execution_input(m.execution, 0), up);
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    expect_floats(sh_execution_output(m.execution, 0), 1, (float[]){15});
    stop(&m);
    sh_graph_free(graph);
}

static void weights_are_prepared_in_parts(void **state)
{
    (void)state;
    enum { LAYERS = 6, CHANNELS = 64, PARTS = 3, WEIGHTS = CHANNELS * CHANNELS * 9 };
    sh_graph *graph = new_graph();
    sh_net net = {.graph = graph};
    sh_value_id x = pixels(graph, CHANNELS, 4);
    for (int i = 0; i < LAYERS; i++)
        x = sh_layer_conv2d(&net, x, (const char *[]){"a", "b", "c", "d", "e", "f"}[i],
                            &(sh_conv_options){.channels = CHANNELS, .kernel = 3, .padding = 1});
    sh_graph_output(graph, x);
    float *const weights = malloc(WEIGHTS * sizeof *weights);
    float *parameters[2 * LAYERS];
    for (size_t i = 0; i < WEIGHTS; i++)
        weights[i] = (float)i;
    for (size_t i = 0; i < graph->parameter_count; i++)
        parameters[i] = weights;
    machine whole = start(graph, best(), parameters), parts = start(graph, best(), parameters);
    const size_t bytes = sh_program_shared_bytes(whole.program);
    memset(whole.shared + GUARD_BYTES, 0, bytes);
    memset(parts.shared + GUARD_BYTES, 0, bytes);
    assert_ok(sh_execution_prepare(whole.execution));
    assert_ok(sh_execution_watch(parts.execution, sh_clock_system()));
    const sh_work_time *const times = sh_execution_times(parts.execution);
    uint64_t before = 0;
    for (uint32_t part = PARTS; part-- > 0;) {
        uint64_t done = 0;
        assert_ok(sh_execution_prepare_part(parts.execution, part, PARTS));
        for (size_t i = 0; i < sh_program_length(parts.program); i++)
            done += times[i].count;
        assert_true(done > before);
        before = done;
    }
    assert_int_equal(before, LAYERS);
    assert_memory_equal(parts.shared + GUARD_BYTES, whole.shared + GUARD_BYTES, bytes);
    stop(&whole);
    stop(&parts);
    free(weights);
    sh_graph_free(graph);
}

static void reshape_costs_nothing(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {3, {4, 2, 3}}});
    sh_graph_add(graph, SH_OP_reshape, &(sh_attributes){.shape = {2, {4, 6}}}, &x, out);
    sh_graph_output(graph, out[0]);
    machine m = start(graph, best(), NULL);
    assert_ptr_equal(sh_execution_output(m.execution, 0), sh_execution_input(m.execution, 0));
    assert_int_equal(sh_program_lane_bytes(m.program), sh_align_up(4 * 2 * 3 * sizeof(float)));
    assert_int_equal(sh_program_shared_bytes(m.program), 0);
    stop(&m);
    sh_graph_free(graph);
}

static void outputs_stay_readable(void **state)
{
    (void)state;
    enum { LENGTH = 9 };
    for (unsigned kept = 0; kept < 1u << LENGTH; kept += 37) {
        sh_graph *graph = new_graph();
        const sh_value_id one = sh_graph_input(graph, eight);
        sh_value_id x = one;
        for (unsigned i = 0; i < LENGTH; i++) {
            x = apply(graph, SH_OP_add, x, x);
            if ((kept >> i & 1) != 0)
                sh_graph_output(graph, x);
        }
        machine m = start(graph, best(), NULL);
        const size_t places = sh_program_lane_bytes(m.program) / SH_ALIGNMENT;
        assert_in_range(places, 1, 1 + graph->output_count);
        fill(sh_execution_input(m.execution, 0), odd);
        assert_ok(sh_execution_run(m.execution, NULL, NULL));
        for (unsigned i = 0, output = 0; i < LENGTH; i++)
            if ((kept >> i & 1) != 0)
                expect_floats(sh_execution_output(m.execution, output++), 1,
                              (float[]){10.0f * (float)(2u << i)});
        stop(&m);
        sh_graph_free(graph);
    }
}

/* The addresses of values show it. */
static void results_take_the_place_of_what_is_needed_no_more(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    sh_value_id same[SH_MAX_OUTPUTS];
    const sh_value_id x = sh_graph_input(graph, eight), y = sh_graph_input(graph, eight);
    const sh_value_id a = apply(graph, SH_OP_add, x, y);            /* over x; y is used below */
    const sh_value_id b = apply(graph, SH_OP_relu, y, SH_NO_VALUE); /* not over y: used below */
    sh_graph_add(graph, SH_OP_reshape, &(sh_attributes){.shape = {2, {2, 4}}}, &b, same);
    const sh_value_id c = apply(graph, SH_OP_add, b, y); /* not over b, also `same`; over y */
    const sh_value_id d = apply(graph, SH_OP_add, c, a); /* over one of them */
    sh_graph_output(graph, d);
    sh_graph_output(graph, same[0]);
    machine m = start(graph, best(), NULL);
    assert_int_equal(sh_program_lane_bytes(m.program), 3 * SH_ALIGNMENT); /* x a, y c d, b */
    fill(sh_execution_input(m.execution, 0), odd);
    fill(sh_execution_input(m.execution, 1), up);
    assert_ptr_equal(sh_execution_output(m.execution, 0), sh_execution_input(m.execution, 1));
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    expect_floats(sh_execution_output(m.execution, 0), 8, (float[]){4, 16, 28, 40, 53, 66, 79, 92});
    expect_floats(sh_execution_output(m.execution, 1), 8, (float[]){0, 0, 0, 0, 1, 2, 3, 4});
    stop(&m);
    sh_graph_free(graph);
}

/* ---- gradients ------------------------------------------------------------------------------- */

typedef struct received {
    float gradient[4][12];
} received;

static void take(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    received *r = context;
    if (gradient->last)
        note((char)('0' + parameter));
    memcpy(r->gradient[parameter] + gradient->first, gradient->values,
           gradient->count * sizeof *gradient->values);
}

static void gradients_are_handed_over_as_soon_as_they_exist(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {2, {1, 3}}});
    const sh_value_id seed = sh_graph_input(graph, (sh_type){SH_F32, {2, {1, 2}}});
    const sh_value_id h = sh_layer_relu(&(sh_net){.graph = graph},
                                        sh_layer_linear(&(sh_net){.graph = graph}, x, "fc1", 4));
    sh_graph_differentiate(graph, sh_layer_linear(&(sh_net){.graph = graph}, h, "fc2", 2), seed);
    float w1[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1}, b1[4] = {1, 0, -9, 0};
    float w2[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b2[2] = {0};
    machine m = start(graph, best(), (float *const[]){w1, b1, w2, b2});
    assert_ok(sh_execution_prepare(m.execution));
    received got;
    memcpy(sh_execution_input(m.execution, 0), (float[]){2, 3, 5}, 3 * sizeof(float));
    memcpy(sh_execution_input(m.execution, 1), (float[]){10, 1}, 2 * sizeof(float));
    assert_ok(sh_execution_run(m.execution, take, &got));
    assert_string_equal(called, "2301");
    /* h = relu(3, 3, -4, -10); dw2 = seed x h; dh = w2^T seed where h > 0 */
    expect_floats(got.gradient[3], 2, (float[]){10, 1});
    expect_floats(got.gradient[2], 8, (float[]){30, 30, 0, 0, 3, 3, 0, 0});
    expect_floats(got.gradient[1], 4, (float[]){15, 26, 0, 0});
    expect_floats(got.gradient[0], 12, (float[]){30, 45, 75, 52, 78, 130, 0, 0, 0, 0, 0, 0});
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    stop(&m);
    sh_graph_free(graph);
}

typedef struct interruption {
    atomic_bool flag;
    uint32_t gradients;
} interruption;

static void interrupt(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    interruption *seen = context;
    (void)parameter;
    (void)gradient;
    seen->gradients++;
    atomic_store(&seen->flag, true);
}

static void runs_are_interrupted_between_instructions(void **state)
{
    (void)state;
    interruption seen = {0};
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {2, {1, 3}}});
    const sh_value_id seed = sh_graph_input(graph, (sh_type){SH_F32, {2, {1, 2}}});
    sh_graph_differentiate(graph, sh_layer_linear(&(sh_net){.graph = graph}, x, "fc1", 2), seed);
    float w1[6] = {1, 0, 0, 0, 1, 0}, b1[2] = {1, 0};
    machine m = start(graph, best(), (float *const[]){w1, b1});
    memset(sh_execution_input(m.execution, 0), 0, 3 * sizeof(float));
    memset(sh_execution_input(m.execution, 1), 0, 2 * sizeof(float));
    sh_execution_interrupt_by(m.execution, &seen.flag);
    assert_fails(sh_execution_run(m.execution, interrupt, &seen), SH_ABORTED, "interrupted");
    assert_int_equal(seen.gradients, 1); /* of two */
    const uint64_t progress = sh_execution_progress(m.execution);
    assert_fails(sh_execution_run(m.execution, NULL, NULL), SH_ABORTED, "interrupted");
    assert_int_equal(sh_execution_progress(m.execution), progress);
    assert_ok(sh_execution_prepare(m.execution));
    atomic_store(&seen.flag, false);
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    stop(&m);
    sh_graph_free(graph);
}

typedef struct factors {
    const sh_execution *execution;
    float x[2][64], dy[2][64], gradient[2][64];
    size_t bytes[2];
} factors;

static void copy(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    (void)parameter;
    memcpy((float *)context + gradient->first, gradient->values,
           gradient->count * sizeof *gradient->values);
}

static void keep_factors(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    factors *kept = context;
    sh_product product;
    if (parameter % 2 == 1) {
        assert_false(sh_execution_product(kept->execution, parameter, &product));
        return;
    }
    const uint32_t layer = parameter / 2;
    assert_true(sh_execution_product(kept->execution, parameter, &product));
    memcpy(kept->x[layer], product.x, product.x_bytes);
    memcpy(kept->dy[layer], product.dy, product.dy_bytes);
    kept->bytes[layer] = product.x_bytes / 2 * product.dy_bytes / 2 / sizeof(float);
    copy(kept->gradient[layer], parameter, gradient);
}

static void a_gradient_is_made_again_of_its_factors(void **state)
{
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        if (!sh_variant_runs((*all)->variant))
            continue;
        sh_graph *graph = new_graph();
        sh_net net = {.graph = graph};
        const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, {2, {2, 3}}});
        const sh_value_id seed = sh_graph_input(graph, (sh_type){SH_F32, {2, {2, 5}}});
        const sh_value_id h = sh_layer_relu(&net, sh_layer_linear(&net, x, "fc1", 4));
        sh_graph_differentiate(graph, sh_layer_linear(&net, h, "fc2", 5), seed);
        float w1[12], b1[4], w2[20], b2[5] = {0}, samples[6], seeds[10];
        for (int i = 0; i < 20; i++) {
            w2[i] = 1.0f / (float)(i + 3);
            w1[i % 12] = 0.7f / (float)(i % 12 + 1);
            samples[i % 6] = 1.3f / (float)(i % 6 + 1);
            seeds[i % 10] = -1.1f / (float)(i % 10 + 2);
            b1[i % 4] = 0.1f;
        }
        machine m = start(graph, *all, (float *const[]){w1, b1, w2, b2});
        assert_ok(sh_execution_prepare(m.execution));
        memcpy(sh_execution_input(m.execution, 0), samples, sizeof samples);
        memcpy(sh_execution_input(m.execution, 1), seeds, sizeof seeds);
        static factors kept, other;
        kept.execution = other.execution = m.execution;
        assert_ok(sh_execution_run(m.execution, keep_factors, &kept));
        memcpy(sh_execution_input(m.execution, 0), seeds, sizeof samples);
        memcpy(sh_execution_input(m.execution, 1), seeds, sizeof seeds);
        assert_ok(sh_execution_run(m.execution, keep_factors, &other));
        for (uint32_t layer = 0; layer < 2; layer++) {
            float again[64];
            sh_product product;
            assert_true(sh_execution_product(m.execution, 2 * layer, &product));
            memcpy(product.x, kept.x[layer], product.x_bytes);
            memcpy(product.dy, kept.dy[layer], product.dy_bytes);
            assert_ok(sh_execution_multiply(m.execution, 2 * layer, copy, again));
            assert_memory_not_equal(kept.gradient[layer], other.gradient[layer], kept.bytes[layer]);
            assert_memory_equal(again, kept.gradient[layer], kept.bytes[layer]);
        }
        stop(&m);
        sh_graph_free(graph);
    }
}

static void count_call(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    int *calls = context;
    calls[parameter]++;
    assert_true(gradient->last && gradient->count == 8);
    expect_floats(gradient->values, 8, odd);
}

/* y = v + w: both gradients are the seed itself, which no node makes. */
static void a_gradient_that_is_given_is_handed_over_too(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id seed = sh_graph_input(graph, eight);
    const sh_value_id v = sh_graph_parameter(graph, "v", eight, SH_ROLE_TRAINED, (sh_initial){0});
    const sh_value_id w = sh_graph_parameter(graph, "w", eight, SH_ROLE_TRAINED, (sh_initial){0});
    sh_graph_differentiate(graph, apply(graph, SH_OP_add, v, w), seed);
    float a[8] = {0}, b[8] = {0};
    int calls[2] = {0};
    machine m = start(graph, best(), (float *const[]){a, b});
    fill(sh_execution_input(m.execution, 0), odd);
    assert_ok(sh_execution_prepare(m.execution));
    assert_ok(sh_execution_run(m.execution, count_call, calls));
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 1);
    stop(&m);
    sh_graph_free(graph);
}

/* ---- real models ----------------------------------------------------------------------------- */

static void sum_up(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    double *sum = context;
    *sum += (double)(parameter + 1) * (double)gradient->values[0];
}

static void models_run_within_their_memory(void **state)
{
    (void)state;
    const sh_model_options options = {.spec = "lenet", .problem = {1, 28, 28, 10, SH_TARGET_CLASS}};
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (int mode = 0; mode < 2 && sh_variant_runs((*all)->variant); mode++) {
            sh_graph *graph;
            assert_ok(sh_model_build(&graph, &options, 3, (sh_model_mode)mode));
            float *weights = malloc(sh_model_weights(graph) * sizeof *weights), *parameters[16];
            sh_model_initialise(graph, 1, weights);
            assert_in_range(graph->parameter_count, 1, 16);
            for (size_t i = 0, at = 0; i < graph->parameter_count; i++) {
                parameters[i] = weights + at;
                at += sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
            }
            machine m = start(graph, *all, parameters);
            double sums[2] = {0};
            for (int i = 0; i < 2; i++) {
                memset(m.lane + GUARD_BYTES, i == 0 ? 0xff : 0x11,
                       sh_program_lane_bytes(m.program));
                assert_ok(sh_execution_prepare(m.execution));
                memset(sh_execution_input(m.execution, 0), 0, 3 * 28 * 28 * sizeof(float));
                memset(sh_execution_input(m.execution, 1), 0, 3 * sizeof(int32_t));
                if (mode == SH_MODEL_TRAIN)
                    memcpy(sh_execution_input(m.execution, 2), odd, 3 * sizeof(float));
                assert_ok(sh_execution_run(m.execution, sum_up, &sums[i]));
                sums[i] += (double)((const float *)sh_execution_output(m.execution, 0))[2];
            }
            assert_true(sums[0] == sums[1]);
            stop(&m);
            free(weights);
            sh_graph_free(graph);
        }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/*
 * Counts allocations of a thread. Sanitizers have their own allocator, and only glibc gives its
 * functions second names.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_HEAP 1
#define INTERPOSED __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t item_bytes);
extern void *__libc_realloc(void *block, size_t bytes);

static _Thread_local struct {
    bool counting;
    size_t taken;
} heap;

INTERPOSED void *malloc(size_t bytes)
{
    heap.taken += heap.counting;
    return __libc_malloc(bytes);
}

INTERPOSED void *calloc(size_t count, size_t item_bytes)
{
    heap.taken += heap.counting;
    return __libc_calloc(count, item_bytes);
}

INTERPOSED void *realloc(void *block, size_t bytes)
{
    heap.taken += heap.counting;
    return __libc_realloc(block, bytes);
}
#endif

typedef struct lane {
    machine machine;
    float sums[16];
    sh_status status;
} lane;

static void sum_gradient(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    lane *l = context;
    l->sums[parameter] += gradient->values[0] + gradient->values[1];
}

static void run_lane(void *context, uint32_t worker)
{
    lane *l = (lane *)context + worker;
    float *x = sh_execution_input(l->machine.execution, 0);
    float *seed = sh_execution_input(l->machine.execution, 1);
    for (size_t i = 0; i < (size_t)4 * 3 * 12 * 12; i++)
        x[i] = 1.0f / (float)(i + 1);
    for (size_t i = 0; i < (size_t)4 * 33 * 3 * 3; i++)
        seed[i] = -2.0f / (float)(i + 1);
    l->status = sh_execution_run(l->machine.execution, sum_gradient, l);
}

static void lanes_compute_the_same_and_take_no_memory(void **state)
{
    enum { LANES = 3 };
    (void)state;
    sh_graph *graph = new_graph();
    lane lanes[LANES] = {0};
    sh_team *team;
    const sh_value_id y = small_network(graph, 3);
    sh_graph_differentiate(graph, y, sh_graph_input(graph, *sh_graph_type(graph, y)));
    float *weights = malloc(sh_model_weights(graph) * sizeof *weights), *parameters[16];
    sh_model_initialise(graph, 1, weights);
    for (size_t i = 0, at = 0; i < graph->parameter_count; i++) {
        parameters[i] = weights + at;
        at += sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
    }
    for (size_t i = 0; i < LANES; i++) {
        lanes[i].machine = start(graph, best(), parameters);
        memset(lanes[i].machine.lane + GUARD_BYTES, 0xff,
               sh_program_lane_bytes(lanes[i].machine.program));
        assert_ok(sh_execution_prepare(lanes[i].machine.execution));
    }
    assert_ok(sh_team_start(&team, LANES));
    sh_team_run(team, run_lane, lanes);
    sh_team_stop(team);
    for (size_t i = 0; i < LANES; i++) {
        assert_int_equal(lanes[i].status, SH_OK);
        assert_true(isfinite(lanes[i].sums[1]) && lanes[i].sums[1] != 0);
        assert_memory_equal(lanes[i].sums, lanes[0].sums, sizeof lanes[0].sums);
    }
#ifdef COUNTS_HEAP
    heap.counting = true;
    run_lane(lanes, 0);
    heap.counting = false;
    assert_int_equal(heap.taken, 0);
#endif
    for (size_t i = 0; i < LANES; i++)
        stop(&lanes[i].machine);
    free(weights);
    sh_graph_free(graph);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void what_is_no_whole_graph_is_refused(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    sh_program *program = NULL;
    const sh_value_id x = sh_graph_input(graph, eight);
    sh_graph_output(graph, apply(graph, SH_OP_add, x, x));
    graph->nodes[0].op = SH_OP_COUNT;
    assert_fails(sh_program_compile(&program, graph, best()), SH_INTERNAL, "node 0: operator ");
    sh_graph_failed(graph, sh_fail(SH_INVALID, "the graph was never whole"));
    assert_fails(sh_program_compile(&program, graph, best()), SH_INVALID,
                 "the graph was never whole");
    assert_null(program);
    sh_graph_free(graph);
    sh_execution_free(NULL);
    sh_program_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_converted_between_convolutions),
        cmocka_unit_test(values_are_converted_once_for_each_layout),
        cmocka_unit_test(what_comes_from_weights_alone_is_prepared_once),
        cmocka_unit_test(weights_are_prepared_in_parts),
        cmocka_unit_test(reshape_costs_nothing),
        cmocka_unit_test(outputs_stay_readable),
        cmocka_unit_test(results_take_the_place_of_what_is_needed_no_more),
        cmocka_unit_test(gradients_are_handed_over_as_soon_as_they_exist),
        cmocka_unit_test(runs_are_interrupted_between_instructions),
        cmocka_unit_test(a_gradient_is_made_again_of_its_factors),
        cmocka_unit_test(a_gradient_that_is_given_is_handed_over_too),
        cmocka_unit_test(models_run_within_their_memory),
        cmocka_unit_test(lanes_compute_the_same_and_take_no_memory),
        cmocka_unit_test(what_is_no_whole_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
