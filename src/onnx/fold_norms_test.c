/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/fold_norms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "graph/layers.h"
#include "onnx/from_graph.h"

/* Parameters are numbers from 0.5 to 1.5. */
typedef struct folded {
    sh_graph *graph;
    sh_net net;
    sh_value_id samples;
    float **weights;
    sh_arena arena;
    Sh__Onnx__ModelProto *model;
} folded;

static sh_value_id begin(folded *f, size_t rank, const size_t *dim)
{
    memset(f, 0, sizeof *f);
    sh_arena_init(&f->arena);
    assert_ok(sh_graph_new(&f->graph));
    f->net.graph = f->graph;
    f->samples = sh_graph_input(f->graph, (sh_type){SH_F32, sh_shape_of(rank, dim)});
    return f->samples;
}

static void finish(folded *f, sh_value_id answer)
{
    assert_ok(sh_graph_status(f->graph));
    f->weights = calloc(f->graph->parameter_count, sizeof *f->weights);
    for (size_t i = 0; i < f->graph->parameter_count; i++) {
        const size_t count =
            sh_shape_count(&sh_graph_type(f->graph, f->graph->parameters[i].value)->shape);
        f->weights[i] = malloc(count * sizeof(float));
        for (size_t k = 0; k < count; k++)
            f->weights[i][k] = 0.5f + (float)((i * 31 + k * 17) % 101) / 101;
    }
    const sh_from_graph of = {.graph = f->graph,
                              .twice = f->graph,
                              .samples = f->samples,
                              .answer = answer,
                              .input = "input",
                              .output = "output",
                              .name = "small",
                              .weights = (const float *const *)f->weights};
    assert_ok(sh_onnx_from_graph(&f->model, &of, &f->arena));
    assert_ok(sh_onnx_fold_norms(f->model, &f->arena));
}

static void release(folded *f)
{
    for (size_t i = 0; i < f->graph->parameter_count; i++)
        free(f->weights[i]);
    free(f->weights);
    sh_graph_free(f->graph);
    sh_arena_release(&f->arena);
}

static const float *weights_of(const folded *f, const char *name)
{
    for (size_t i = 0; i < f->graph->parameter_count; i++)
        if (strcmp(f->graph->parameters[i].name, name) == 0)
            return f->weights[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static const Sh__Onnx__TensorProto *tensor_of(const folded *f, const char *name)
{
    const Sh__Onnx__GraphProto *graph = f->model->graph;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (strcmp(graph->initializer[i]->name, name) == 0)
            return graph->initializer[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void assert_values(const Sh__Onnx__TensorProto *tensor, size_t count, const float *expected)
{
    float found[64];
    assert_in_range(count, 1, 64);
    assert_int_equal(tensor->raw_data.len, count * sizeof(float));
    memcpy(found, tensor->raw_data.data, tensor->raw_data.len);
    for (size_t i = 0; i < count; i++)
        assert_true(found[i] == expected[i]);
}

static double scale_of(const folded *f, size_t c)
{
    return (double)weights_of(f, "bn.weight")[c] /
           sqrt((double)weights_of(f, "bn.running_var")[c] + (double)1e-5f);
}

static double shift_of(const folded *f, size_t c)
{
    return (double)weights_of(f, "bn.bias")[c] -
           (double)weights_of(f, "bn.running_mean")[c] * scale_of(f, c);
}

static void assert_operators(const folded *f, const char *const *operators)
{
    for (size_t i = 0; i < f->model->graph->n_node; i++) {
        assert_non_null(operators[i]);
        assert_string_equal(f->model->graph->node[i]->op_type, operators[i]);
    }
    assert_null(operators[f->model->graph->n_node]);
}

static void layers_take_the_normalisation_in(void **state)
{
    (void)state;
    static const char *const operators[] = {"Conv", "Relu", NULL};
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        folded f;
        float expected[3 * 8], bias[3];
        sh_value_id x = begin(&f, 4, (size_t[]){1, 2, 4, 4});
        x = sh_layer_conv2d(
            &f.net, x, "conv",
            &(sh_conv_options){.channels = 3, .kernel = 2, .no_bias = with_bias == 0});
        x = sh_layer_relu(&f.net, sh_layer_batch_norm(&f.net, x, "bn"));
        finish(&f, x);
        for (size_t i = 0; i < 3 * 8; i++)
            expected[i] = (float)((double)weights_of(&f, "conv.weight")[i] * scale_of(&f, i / 8));
        for (size_t c = 0; c < 3; c++)
            bias[c] =
                (float)((with_bias ? (double)weights_of(&f, "conv.bias")[c] : 0) * scale_of(&f, c) +
                        shift_of(&f, c));
        assert_operators(&f, operators);
        assert_int_equal(f.model->graph->n_initializer, 2);
        assert_values(tensor_of(&f, "conv.weight"), 3 * 8, expected);
        assert_int_equal(f.model->graph->node[0]->n_input, 3);
        assert_values(tensor_of(&f, f.model->graph->node[0]->input[2]), 3, bias);
        assert_string_equal(f.model->graph->node[1]->input[0], f.model->graph->node[0]->output[0]);
        release(&f);
    }
}

static void dense_layers_do_so_too(void **state)
{
    (void)state;
    static const char *const operators[] = {"Gemm", NULL};
    folded f;
    float expected[3 * 4];
    sh_value_id x = begin(&f, 2, (size_t[]){1, 4});
    x = sh_layer_batch_norm(&f.net, sh_layer_linear(&f.net, x, "fc", 3), "bn");
    finish(&f, x);
    for (size_t i = 0; i < 3 * 4; i++)
        expected[i] = (float)((double)weights_of(&f, "fc.weight")[i] * scale_of(&f, i / 4));
    assert_operators(&f, operators);
    assert_values(tensor_of(&f, "fc.weight"), 3 * 4, expected);
    assert_string_equal(f.model->graph->node[0]->output[0], "output");
    release(&f);
}

/* Normalisations of the input, or of a value with another reader. */
static void others_become_a_product_and_a_sum(void **state)
{
    (void)state;
    static const char *const of_input[] = {"Mul", "Add", NULL};
    static const char *const of_shared[] = {"Conv", "Mul", "Add", "Add", NULL};
    folded f;
    float expected[2];
    sh_value_id x = begin(&f, 3, (size_t[]){1, 2, 5});
    finish(&f, sh_layer_batch_norm(&f.net, x, "bn"));
    assert_operators(&f, of_input);
    for (size_t c = 0; c < 2; c++)
        expected[c] = (float)scale_of(&f, c);
    const Sh__Onnx__TensorProto *scale = tensor_of(&f, f.model->graph->node[0]->input[1]);
    assert_values(scale, 2, expected);
    assert_int_equal(scale->n_dims, 2); /* [C, 1] */
    assert_int_equal(scale->dims[0], 2);
    for (size_t c = 0; c < 2; c++)
        expected[c] = (float)shift_of(&f, c);
    assert_values(tensor_of(&f, f.model->graph->node[1]->input[1]), 2, expected);
    release(&f);

    x = begin(&f, 4, (size_t[]){1, 2, 4, 4});
    x = sh_layer_conv2d(&f.net, x, "conv", &(sh_conv_options){.channels = 3, .kernel = 2});
    x = sh_layer_add(&f.net, x, sh_layer_batch_norm(&f.net, x, "bn"));
    finish(&f, x);
    assert_operators(&f, of_shared);
    assert_values(tensor_of(&f, "conv.weight"), 3 * 8, weights_of(&f, "conv.weight"));
    release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_take_the_normalisation_in),
        cmocka_unit_test(dense_layers_do_so_too),
        cmocka_unit_test(others_become_a_product_and_a_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
