/* SPDX-License-Identifier: Apache-2.0 */
/* All levels of recomputation on small residual networks. */
#include "graph/recompute.h"

#include <stdlib.h>

#include "backend/program.h"
#include "base/random.h"
#include "base/test.h"
#include "graph/layers.h"
#include "graph/live_bytes.h"
#include "model/model.h"

enum { SAMPLES = 4, SIDE = 16, CLASSES = 5 };
#define SCRATCH ((size_t)64 * 1024) /* upper limit of one convolution's scratch memory */

static const uint32_t levels[] = {0, 1, 2, 3, 5, 8, SH_RECOMPUTE_MOST};

/* ---- networks -------------------------------------------------------------------------------- */

static sh_value_id conv_norm(sh_net *net, sh_value_id x, const char *name, size_t channels,
                             size_t kernel, size_t stride, size_t groups)
{
    const sh_conv_options options = {.channels = channels,
                                     .kernel = kernel,
                                     .stride = stride,
                                     .padding = kernel / 2,
                                     .groups = groups,
                                     .no_bias = true};
    sh_net_enter(net, "%s", name);
    x = sh_layer_batch_norm(net, sh_layer_conv2d(net, x, "conv", &options), "bn");
    sh_net_leave(net);
    return x;
}

static sh_value_id relu6(sh_net *net, sh_value_id x)
{
    return sh_net_apply(net, SH_OP_relu6, NULL, x);
}

/* As in MobileNetV2. */
static sh_value_id inverted(sh_net *net, sh_value_id x)
{
    x = relu6(net, conv_norm(net, x, "stem", 8, 3, 1, 1));
    for (int i = 0; i < 6; i++) {
        const size_t stride = i == 2 ? 2 : 1;
        sh_net_enter(net, "block%d", i);
        sh_value_id y = relu6(net, conv_norm(net, x, "widen", 48, 1, 1, 1));
        y = relu6(net, conv_norm(net, y, "filter", 48, 3, stride, 48));
        y = conv_norm(net, y, "narrow", 8, 1, 1, 1);
        x = stride == 1 ? sh_layer_add(net, x, y) : y;
        sh_net_leave(net);
    }
    return sh_layer_linear(net, sh_layer_flatten(net, x), "fc", CLASSES);
}

/* ResNet's basic blocks. */
static sh_value_id basic(sh_net *net, sh_value_id x)
{
    x = sh_layer_relu(net, conv_norm(net, x, "stem", 8, 3, 1, 1));
    x = sh_layer_max_pool(net, x, &(sh_pool_options){.kernel = 2, .stride = 2});
    for (int i = 0; i < 5; i++) {
        sh_net_enter(net, "block%d", i);
        sh_value_id y = sh_layer_relu(net, conv_norm(net, x, "first", 8, 3, 1, 1));
        y = conv_norm(net, y, "second", 8, 3, 1, 1);
        x = sh_layer_relu(net, sh_layer_add(net, x, y));
        sh_net_leave(net);
    }
    return sh_layer_linear(net, sh_layer_flatten(net, x), "fc", CLASSES);
}

static sh_value_id plain(sh_net *net, sh_value_id x)
{
    const sh_conv_options options = {.channels = 6, .kernel = 3, .padding = 1};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        x = sh_layer_relu(net, sh_layer_conv2d(net, x, names[i], &options));
    return sh_layer_linear(net, sh_layer_flatten(net, x), "fc", CLASSES);
}

static const struct {
    const char *name;
    sh_value_id (*build)(sh_net *net, sh_value_id x);
    size_t cheap_percent, least_percent; /* limits, of the memory without recomputation */
} networks[] = {
    {"inverted residuals", inverted, 55, 33},
    {"basic blocks", basic, 70, 44},
    {"plain", plain, 100, 85},
};
enum { PLAIN = 2 }; /* a kept value costs as much as a recomputed one */

static sh_graph *build(size_t network, uint32_t segments)
{
    sh_graph *graph;
    sh_value_id out[SH_MAX_OUTPUTS];
    assert_ok(sh_graph_new(&graph));
    sh_net net = {.graph = graph, .training = true};
    const sh_value_id x = sh_graph_input(
        graph, (sh_type){SH_F32, sh_shape_of(4, (size_t[]){SAMPLES, 3, SIDE, SIDE})});
    const sh_value_id labels =
        sh_graph_input(graph, (sh_type){SH_I32, sh_shape_of(1, (size_t[]){SAMPLES})});
    net.loss_weights =
        sh_graph_input(graph, (sh_type){SH_F32, sh_shape_of(1, (size_t[]){SAMPLES})});
    const sh_value_id logits = networks[network].build(&net, x);
    const sh_value_id loss =
        sh_graph_add(graph, SH_OP_cross_entropy, NULL, (sh_value_id[]){logits, labels}, out);
    sh_graph_output(graph, loss);
    sh_graph_differentiate(graph, loss, net.loss_weights);
    sh_graph_recompute(graph, segments);
    assert_ok(sh_graph_status(graph));
    assert_ok(sh_graph_verify(graph));
    return graph;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct results {
    float *gradients; /* of all parameters, laid out like their weights */
    const size_t *first;
    const size_t *count;
    size_t received;
} results;

static void take(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    results *r = context;
    memcpy(r->gradients + r->first[parameter] + gradient->first, gradient->values,
           gradient->count * sizeof *gradient->values);
    r->received += gradient->last;
}

static void fill_inputs(const sh_execution *execution)
{
    sh_random random = sh_random_for(2, SH_RANDOM_TEST, 0, 0);
    float *x = sh_execution_input(execution, 0), *weights = sh_execution_input(execution, 2);
    int32_t *labels = sh_execution_input(execution, 1);
    for (size_t i = 0; i < (size_t)SAMPLES * 3 * SIDE * SIDE; i++)
        x[i] = 2 * sh_random_unit(&random) - 1;
    for (int i = 0; i < SAMPLES; i++) {
        labels[i] = i % CLASSES;
        weights[i] = 1.0f / SAMPLES;
    }
}

/* Returns the gradients of all weights, owned. */
static float *run(const sh_graph *graph, const sh_kernels *kernels, bool on_demand,
                  size_t *lane_bytes)
{
    const size_t weights = sh_model_weights(graph);
    float *values = calloc(weights, sizeof *values), *gradients = calloc(weights, sizeof *values);
    float **parameters = calloc(graph->parameter_count, sizeof *parameters);
    size_t *first = calloc(graph->parameter_count, sizeof *first);
    size_t *count = calloc(graph->parameter_count, sizeof *count);
    sh_model_initialise(graph, 7, values);
    for (size_t i = 0, at = 0; i < graph->parameter_count; at += count[i++]) {
        first[i] = at;
        parameters[i] = values + at;
        count[i] = sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
    }
    sh_program *program;
    sh_execution *execution;
    sh_prepared *prepared;
    void *lane, *shared;
    assert_ok(sh_prepared_new(&prepared, on_demand));
    assert_ok(sh_program_compile_with(&program, graph, kernels, prepared));
    assert_true(!on_demand || sh_prepared_bytes(prepared) == 0);
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "a test"));
    assert_ok(sh_block_new(&shared, sh_prepared_bytes(prepared), "a test"));
    memset(lane, 0xff, sh_program_lane_bytes(program));
    assert_ok(sh_execution_new(&execution, program, lane, shared, parameters));
    assert_ok(sh_execution_prepare(execution));
    fill_inputs(execution);
    results r = {gradients, first, count, 0};
    assert_ok(sh_execution_run(execution, take, &r));
    assert_int_equal(r.received, graph->parameter_count);
    *lane_bytes = sh_program_lane_bytes(program);
    sh_execution_free(execution);
    sh_program_free(program);
    sh_prepared_free(prepared);
    free(lane);
    free(shared);
    free(values);
    free(parameters);
    free(first);
    free(count);
    return gradients;
}

static void gradients_have_the_same_bits(void **state)
{
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t n = 0;
             sh_variant_runs((*all)->variant) && n < sizeof networks / sizeof *networks; n++) {
            float *expected = NULL;
            size_t lane_bytes;
            for (size_t i = 0; i < 2 * sizeof levels / sizeof *levels; i++) {
                sh_graph *graph = build(n, levels[i / 2]);
                float *got = run(graph, *all, i % 2 != 0, &lane_bytes);
                const size_t bytes = sh_model_weights(graph) * sizeof *got;
                if (expected == NULL)
                    expected = got;
                else if (memcmp(got, expected, bytes) != 0)
                    fail_msg("%s, %s: %u segments give other gradients", networks[n].name,
                             (*all)->name, levels[i / 2]);
                if (got != expected)
                    free(got);
                sh_graph_free(graph);
            }
            free(expected);
        }
}

static size_t live_bytes(size_t network, uint32_t segments)
{
    size_t bytes;
    sh_graph *graph = build(network, segments);
    assert_ok(sh_graph_live_bytes(&bytes, graph));
    sh_graph_free(graph);
    return bytes;
}

static void memory_shrinks(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        const size_t all = live_bytes(n, 0), cheap = live_bytes(n, 1);
        size_t least = cheap;
        for (size_t i = 2; i < sizeof levels / sizeof *levels; i++) {
            const size_t bytes = live_bytes(n, levels[i]);
            least = bytes < least ? bytes : least;
        }
        if (cheap * 100 > all * networks[n].cheap_percent ||
            least * 100 > all * networks[n].least_percent)
            fail_msg("%s: %zu bytes, %zu without cheap values, %zu at the least", networks[n].name,
                     all, cheap, least);
    }
}

/* Scratch memory and gaps are not estimated. */
static void live_bytes_are_close_to_the_arena(void **state)
{
    (void)state;
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++)
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            size_t lane_bytes, live;
            sh_graph *graph = build(n, levels[i]);
            assert_ok(sh_graph_live_bytes(&live, graph));
            free(run(graph, kernels, false, &lane_bytes));
            if (lane_bytes < live || lane_bytes > live + live / 4 + SCRATCH)
                fail_msg("%s, %u segments: %zu bytes by lifetimes, %zu in the arena",
                         networks[n].name, levels[i], live, lane_bytes);
            sh_graph_free(graph);
        }
}

static void only_segments_repeat_convolutions(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        size_t forward = 0;
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            size_t count = 0;
            sh_graph *graph = build(n, levels[i]);
            for (size_t j = 0; j < graph->node_count; j++)
                count += graph->nodes[j].op == SH_OP_conv2d;
            sh_graph_free(graph);
            if (levels[i] == 0)
                forward = count;
            assert_in_range(count, forward, levels[i] < 2 ? forward : 2 * forward - 1);
            if (n != PLAIN && levels[i] >= 3 && levels[i] <= 8 && count == forward)
                fail_msg("%s, %u segments: nothing is repeated", networks[n].name, levels[i]);
        }
    }
}

static void what_is_not_differentiated_stays(void **state)
{
    (void)state;
    sh_graph *graph;
    assert_ok(sh_graph_new(&graph));
    const sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, sh_shape_of(1, (size_t[]){8})});
    sh_graph_output(graph, sh_layer_relu(&(sh_net){.graph = graph}, x));
    sh_graph_recompute(graph, 3);
    assert_ok(sh_graph_verify(graph));
    assert_int_equal(graph->node_count, 1);
    sh_graph_failed(graph, sh_fail(SH_INVALID, "broken before"));
    sh_graph_recompute(graph, 3);
    assert_fails(sh_graph_status(graph), SH_INVALID, "broken before");
    sh_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_have_the_same_bits),
        cmocka_unit_test(memory_shrinks),
        cmocka_unit_test(live_bytes_are_close_to_the_arena),
        cmocka_unit_test(only_segments_repeat_convolutions),
        cmocka_unit_test(what_is_not_differentiated_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
