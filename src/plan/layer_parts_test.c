/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/layer_parts.h"

#include <stdlib.h>

#include "base/test.h"
#include "model/model.h"

#define GRAIN 2

typedef struct expected_layer {
    const char *name, *weights, *result;
    double flops; /* least, of a grain's forward pass: products only */
    bool has_input_gradient;
} expected_layer;

static void expect(const sh_model_options *model, const expected_layer *expected, size_t some)
{
    const sh_kernels *kernels;
    sh_graph *graph;
    sh_program *program;
    sh_bench_layer *layers;
    size_t count, placed = 0, at = 0;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_model_build(&graph, model, GRAIN, SH_MODEL_TRAIN));
    assert_ok(sh_program_compile(&program, graph, kernels));
    sh_layer_place *places = calloc(sh_program_length(program), sizeof *places);
    assert_non_null(places);
    assert_ok(sh_layer_parts(&layers, &count, places, program, graph));
    for (size_t i = 0; i < some; i++) {
        while (at < count && strcmp(layers[at].name, expected[i].name) != 0)
            at++;
        if (at == count)
            fail_msg("there is no layer %s behind the one before", expected[i].name);
        const sh_bench_layer *layer = &layers[at];
        assert_string_equal(layer->weights, expected[i].weights);
        assert_string_equal(layer->result, expected[i].result);
        for (int part = 0; part < SH_BENCH_PARTS; part++) {
            const bool there = part != SH_BENCH_INPUT || expected[i].has_input_gradient;
            const double flops = layer->parts[part].flops;
            assert_true(layer->parts[part].seconds == 0);
            if (there ? flops < expected[i].flops || flops > 1.1 * expected[i].flops + 10000
                      : flops != 0)
                fail_msg("%s, part %d: %g operations, expected %g", layer->name, part, flops,
                         there ? expected[i].flops : 0);
        }
    }

    for (size_t i = 0; i < sh_program_length(program); i++) {
        if (places[i].layer == SH_NO_LAYER)
            continue;
        placed++;
        assert_true(places[i].layer < count && places[i].part < SH_BENCH_PARTS);
        assert_int_equal(sh_program_work(program, i).kind, SH_WORK_NODE);
    }
    assert_true(placed >= 3 * count - 1);
    free(layers);
    free(places);
    sh_program_free(program);
    sh_graph_free(graph);
}

static void lenet_has_two_convolutions_and_two_dense_layers(void **state)
{
    (void)state;
    static const sh_model_options model = {.spec = "lenet",
                                           .problem = {1, 28, 28, 10, SH_TARGET_CLASS}};
    static const expected_layer expected[] = {
        {"conv1", "20x1x5x5", "20x24x24", GRAIN * 2.0 * 11520 * 25, false},
        {"conv2", "50x20x5x5", "50x8x8", GRAIN * 2.0 * 3200 * 500, true},
        {"fc1", "500x800", "500", GRAIN * 2.0 * 400000, true},
        {"fc2", "10x500", "10", GRAIN * 2.0 * 5000, true},
    };
    expect(&model, expected, sizeof expected / sizeof *expected);
}

static void layers_without_weights_of_two_dimensions_are_left_out(void **state)
{
    (void)state;
    static const sh_model_options model = {.spec = "resnet:20",
                                           .problem = {3, 32, 32, 10, SH_TARGET_CLASS}};
    static const expected_layer expected[] = {
        {"conv1", "16x3x3x3", "16x32x32", GRAIN * 2.0 * 16384 * 27, false},
        {"layer1.0.conv1", "16x16x3x3", "16x32x32", GRAIN * 2.0 * 16384 * 144, true},
        {"layer2.0.conv1", "32x16x3x3", "32x16x16", GRAIN * 2.0 * 8192 * 144, true},
    };
    expect(&model, expected, sizeof expected / sizeof *expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet_has_two_convolutions_and_two_dense_layers),
        cmocka_unit_test(layers_without_weights_of_two_dimensions_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
