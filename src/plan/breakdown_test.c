/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/breakdown.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"
#include "model/model.h"

static void lenet_has_its_layers(void **state)
{
    (void)state;
    static const sh_model_options model = {.spec = "lenet",
                                           .problem = {1, 28, 28, 10, SH_TARGET_CLASS}};
    static const struct {
        const char *name, *shape;
        uint64_t parameters;
        double forward_flops; /* of two samples: products only */
    } expected[] = {
        {"conv1", "20x12x12", 520, 2 * 2.0 * 11520 * 25},
        {"conv2", "800", 25050, 2 * 2.0 * 3200 * 500},
        {"fc1", "500", 400500, 2 * 2.0 * 400000},
        {"fc2", "10", 5010, 2 * 2.0 * 5000},
        {"loss", "1", 0, 0},
    };
    sh_graph *graph;
    sh_plan_layer *layers;
    size_t count, nodes;
    assert_ok(sh_model_build(&graph, &model, 2, SH_MODEL_TRAIN));
    double *seconds = calloc(graph->node_count, sizeof *seconds), total = 0;
    assert_non_null(seconds);
    for (nodes = 0; nodes < graph->node_count; nodes++)
        seconds[nodes] = 1;
    assert_ok(sh_breakdown(&layers, &count, graph, seconds));
    assert_int_equal(count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(layers[i].name, expected[i].name);
        assert_string_equal(layers[i].shape, expected[i].shape);
        assert_int_equal(layers[i].parameters, expected[i].parameters);
        assert_true(layers[i].forward_flops >= expected[i].forward_flops);
        assert_true(layers[i].forward_flops <= 1.1 * expected[i].forward_flops + 1000);
        total += layers[i].seconds;
    }
    assert_true(total == (double)nodes);
    assert_int_equal(layers[2].activation_bytes, 4 * 2 * (500 + 500));
    assert_int_equal(layers[3].activation_bytes, 4 * 2 * 10);
    /* conv2, fc1: twice the forward pass, and the bias; conv1 has no input gradient */
    assert_true(layers[0].backward_flops < 1.1 * layers[0].forward_flops);
    assert_true(layers[1].backward_flops >= 1.9 * layers[1].forward_flops);
    assert_true(layers[2].backward_flops >= 1.9 * layers[2].forward_flops);
    assert_true(layers[2].seconds ==
                6); /* linear, relu; relu_grad, two of linear; reshape belongs to conv2 */
    free(layers);
    assert_ok(sh_breakdown(&layers, &count, graph, NULL));
    assert_true(isnan(layers[0].seconds));
    free(layers);
    free(seconds);
    sh_graph_free(graph);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    for (const sh_model_def *const *all = sh_model_all(); *all != NULL; all++) {
        const sh_model_options model = {.spec = (*all)->example,
                                        .problem = (*all)->example_problem};
        sh_graph *graph;
        sh_plan_layer *layers;
        size_t count;
        uint64_t parameters = 0;
        double flops = 0, seconds = 0;
        assert_ok(sh_model_build(&graph, &model, 2, SH_MODEL_TRAIN));
        double *one = calloc(graph->node_count, sizeof *one);
        assert_non_null(one);
        for (size_t i = 0; i < graph->node_count; i++)
            one[i] = 1;
        assert_ok(sh_breakdown(&layers, &count, graph, one));
        for (size_t i = 0; i < count; i++) {
            parameters += layers[i].parameters;
            flops += layers[i].forward_flops + layers[i].backward_flops;
            seconds += layers[i].seconds;
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(layers[i].name, layers[j].name);
        }
        assert_int_equal(parameters, sh_model_parameters(graph));
        assert_true(seconds == (double)graph->node_count);
        assert_true(flops > 0);
        assert_string_equal(layers[count - 1].name, "loss");
        free(one);
        free(layers);
        sh_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lenet_has_its_layers),
        cmocka_unit_test(nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
