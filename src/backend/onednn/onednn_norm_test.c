/* SPDX-License-Identifier: Apache-2.0 */
/* A residual network with batch normalisation: nothing is converted, and it agrees with portable's.
 */
#include <math.h>
#include <stdlib.h>

#include "backend/onednn/primitive.h"
#include "backend/program.h"
#include "base/random.h"
#include "base/test.h"
#include "graph/fuse.h"
#include "graph/layers.h"

#define MAX_PARAMETERS 40
#define SAMPLES 4

/* The same graph on a backend, with what a run gave. */
typedef struct subject {
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    float *weights[MAX_PARAMETERS], *gradients[MAX_PARAMETERS];
} subject;

static void fill(float *data, size_t count, uint32_t which)
{
    sh_random random = sh_random_for(7, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = sh_random_unit(&random) - 0.5f;
}

static sh_value_id conv_norm(sh_net *net, sh_value_id x, const char *name, size_t channels)
{
    const sh_conv_options options = {
        .channels = channels, .kernel = 3, .padding = 1, .no_bias = true};
    sh_net_enter(net, "%s", name);
    x = sh_layer_batch_norm(net, sh_layer_conv2d(net, x, "conv", &options), "bn");
    sh_net_leave(net);
    return x;
}

/* Two blocks with their gradients; the seed is the last input. */
static sh_graph *network(size_t channels)
{
    sh_graph *graph;
    assert_ok(sh_graph_new(&graph));
    const sh_shape pixels = sh_shape_of(4, (size_t[]){SAMPLES, 16, 9, 7});
    const sh_type samples = {SH_F32, sh_shape_of(1, pixels.dim)};
    sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, pixels});
    sh_net net = {.graph = graph, .training = true, .loss_weights = sh_graph_input(graph, samples)};
    x = sh_layer_relu(&net, conv_norm(&net, x, "stem", channels));
    for (int i = 0; i < 2; i++) {
        sh_net_enter(&net, "block%d", i);
        sh_value_id y = conv_norm(&net, x, "a", channels);
        y = i == 0 ? sh_layer_relu(&net, y) : sh_net_apply(&net, SH_OP_relu6, NULL, y);
        x = sh_layer_relu(&net, sh_layer_add(&net, conv_norm(&net, y, "b", channels), x));
        sh_net_leave(&net);
    }
    x = sh_layer_conv2d(&net, x, "last", &(sh_conv_options){.channels = 16, .kernel = 3});
    sh_graph_output(graph, x);
    sh_graph_fuse(graph);
    sh_graph_differentiate(graph, x, sh_graph_input(graph, *sh_graph_type(graph, x)));
    sh_graph_fuse(graph);
    assert_ok(sh_graph_verify(graph));
    return graph;
}

static void keep_gradient(void *context, uint32_t parameter, const float *gradient)
{
    subject *s = context;
    const sh_type *type = sh_graph_type(s->graph, s->graph->parameters[parameter].value);
    memcpy(s->gradients[parameter], gradient, sh_type_bytes(type));
}

static subject run(size_t channels, const char *backend)
{
    subject s = {.graph = network(channels)};
    sh_backend_list backends;
    assert_ok(sh_backend_choose(&backends, backend));
    sh_backend_enter_thread(&backends);
    assert_ok(sh_program_compile(&s.program, s.graph, &backends));
    assert_ok(sh_block_new(&s.lane, sh_program_lane_bytes(s.program), "lane memory"));
    assert_ok(sh_block_new(&s.shared, sh_program_shared_bytes(s.program), "shared memory"));
    memset(s.lane, 0xFF, sh_program_lane_bytes(s.program)); /* NaN: what is not written */
    assert_true(s.graph->parameter_count <= MAX_PARAMETERS);
    for (uint32_t i = 0; i < s.graph->parameter_count; i++) {
        const sh_type *type = sh_graph_type(s.graph, s.graph->parameters[i].value);
        s.weights[i] = malloc(sh_type_bytes(type));
        s.gradients[i] = calloc(1, sh_type_bytes(type));
        fill(s.weights[i], sh_shape_count(&type->shape), i);
    }
    assert_ok(sh_execution_new(&s.execution, s.program, s.lane, s.shared, s.weights));
    for (uint32_t i = 0; i < s.graph->input_count; i++)
        fill(sh_execution_input(s.execution, i),
             sh_shape_count(&sh_graph_type(s.graph, s.graph->inputs[i])->shape), 100 + i);
    assert_ok(sh_execution_prepare(s.execution));
    assert_ok(sh_execution_run(s.execution, keep_gradient, &s));
    return s;
}

static void stop(subject *s)
{
    sh_execution_free(s->execution);
    sh_program_free(s->program);
    sh_graph_free(s->graph);
    free(s->lane);
    free(s->shared);
    for (size_t i = 0; i < MAX_PARAMETERS; i++) {
        free(s->weights[i]);
        free(s->gradients[i]);
    }
}

/* Beside the pixels, the result and the seed, where plain begins and ends, and the gradients of the
 * weights of six convolutions. */
static void nothing_is_converted_between_layers(void **state)
{
    (void)state;
    if ((dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) != dnnl_cpu_isa_avx2)
        skip_because("oneDNN has its wide kernels from AVX2 on");
    subject s = run(32, "onednn");
    size_t conversions = 0;
    for (size_t i = 0; i < sh_program_length(s.program); i++) {
        const sh_work work = sh_program_work(s.program, i);
        if (work.kind == SH_WORK_REORDER && !work.prepares)
            conversions++;
    }
    assert_int_equal(conversions, 3 + 6);
    stop(&s);
}

/*
 * Largest difference in units of the largest element. Seven convolutions of up to 432 products lie
 * behind each other, each with its own order of sums.
 */
static double distance(const float *a, const float *reference, size_t count)
{
    double worst = 0, scale = 1e-30;
    for (size_t i = 0; i < count; i++) {
        assert_true(a[i] == a[i]);
        worst = fmax(worst, fabs((double)a[i] - (double)reference[i]));
        scale = fmax(scale, fabs((double)reference[i]));
    }
    return worst / scale;
}

static void networks_agree_with_portable(void **state)
{
    (void)state;
    static const size_t channels[] = {16, 24, 40};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        subject s = run(channels[i], "onednn"), oracle = run(channels[i], "portable");
        const sh_type *type = sh_graph_type(s.graph, s.graph->outputs[0]);
        assert_true(distance(sh_execution_output(s.execution, 0),
                             sh_execution_output(oracle.execution, 0),
                             sh_shape_count(&type->shape)) < 1e-5);
        for (size_t j = 0; j < s.graph->parameter_count; j++) {
            const sh_parameter *parameter = &s.graph->parameters[j];
            const size_t count = sh_shape_count(&sh_graph_type(s.graph, parameter->value)->shape);
            const double apart = distance(s.gradients[j], oracle.gradients[j], count);
            if (apart > 1e-4)
                fail_msg("%zu channels: the gradient of %s is %g away", channels[i],
                         parameter->name, apart);
        }
        stop(&s);
        stop(&oracle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_converted_between_layers),
        cmocka_unit_test(networks_agree_with_portable),
    };
    if (!sh_onednn_backend.available())
        return test_skip_all("oneDNN makes no engine here");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
