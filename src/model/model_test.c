/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

static const sh_problem mnist = {1, 28, 28, 10, SH_TARGET_CLASS};

static sh_status build(sh_graph **graph, const char *spec, const sh_problem *problem,
                       size_t samples, sh_model_mode mode)
{
    return sh_model_build(graph, &(sh_model_options){.spec = spec, .problem = *problem}, samples,
                          mode);
}

static void sizes_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        size_t weights;
        const char *first;
    } known[] = {
        {"lenet", 431080, "conv1.weight"},
        {"mlp:784-128-64-10", 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10, "fc1.weight"},
        {"mlp:h128-64", 784 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10, "fc1.weight"},
        {"mlp:784-10", 784 * 10 + 10, "fc1.weight"},
        {"mlp", 784 * 128 + 128 + 128 * 10 + 10, "fc1.weight"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_graph *graph;
        assert_ok(build(&graph, known[i].spec, &mnist, 3, SH_MODEL_TRAIN));
        assert_ok(sh_graph_verify(graph));
        assert_int_equal(sh_model_weights(graph), known[i].weights);
        assert_string_equal(graph->parameters[0].name, known[i].first);
        sh_graph_free(graph);
    }
}

static void nothing_is_computed_for_the_pixels(void **state)
{
    (void)state;
    sh_graph *graph;
    size_t grad_inputs = 0;
    assert_ok(build(&graph, "lenet", &mnist, 2, SH_MODEL_TRAIN));
    for (size_t i = 0; i < graph->node_count; i++)
        grad_inputs += graph->nodes[i].op == SH_OP_conv2d_grad_input;
    assert_int_equal(grad_inputs, 1);
    sh_graph_free(graph);
}

static void bad_specs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *part;
        sh_problem problem;
    } bad[] = {
        {"lenot",
         "unknown model 'lenot'; did you mean 'lenet'? known are: mlp[",
         {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"resnet20", "did you mean 'resnet:20'?", {3, 32, 32, 10, SH_TARGET_CLASS}},
        {"wideresnet28-10", "did you mean 'wideresnet:28-10'?", {3, 32, 32, 10, SH_TARGET_CLASS}},
        {"wideresnt:16-4", "did you mean 'wideresnet:16-4'?", {3, 32, 32, 10, SH_TARGET_CLASS}},
        {"flounder", "unknown model 'flounder'; known are: mlp[", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"lenet:3", "takes no parameters", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"lenet", "8x8, lenet needs at least 16x16", {1, 8, 8, 10, SH_TARGET_CLASS}},
        {"lenet", "one row of 64, but lenet is for images", {3, 1, 64, 10, SH_TARGET_CLASS}},
        {"mlp:h", "'h': expected the widths of hidden layers", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:h64-0", "'h64-0': expected the widths", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:h64,32", "'h64,32': expected the widths", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:", "at least two layers", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:784", "at least two layers", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:784-0-10", "at least two layers", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:784--10", "at least two layers", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:784-99999999-10", "at least two layers", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:100-10", "784 inputs and 10 classes", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:784-11", "784 inputs and 10 classes", {1, 28, 28, 10, SH_TARGET_CLASS}},
        {"mlp:13-9-2", "13 inputs and 1 outputs", {1, 1, 13, 1, SH_TARGET_NUMBERS}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_graph *graph = NULL;
        assert_fails(build(&graph, bad[i].spec, &bad[i].problem, 2, SH_MODEL_TRAIN), SH_INVALID,
                     bad[i].part);
        assert_null(graph);
    }
}

static void initial_weights_follow_the_seed(void **state)
{
    (void)state;
    sh_graph *graph;
    assert_ok(build(&graph, "lenet", &mnist, 1, SH_MODEL_EVALUATE));
    const size_t count = sh_model_weights(graph);
    float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    sh_model_initialise(graph, 1, a);
    sh_model_initialise(graph, 1, b);
    assert_memory_equal(a, b, count * sizeof *a);
    sh_model_initialise(graph, 2, b);
    assert_memory_not_equal(a, b, count * sizeof *a);
    float largest = 0;
    for (size_t i = 0; i < 500; i++) /* conv1.weight: fan-in 25 */
        largest = fmaxf(largest, fabsf(a[i]));
    assert_true(largest <= 0.2f && largest > 0.19f);
    free(a);
    free(b);
    sh_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_the_published_ones),
        cmocka_unit_test(nothing_is_computed_for_the_pixels),
        cmocka_unit_test(bad_specs_are_refused),
        cmocka_unit_test(initial_weights_follow_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
