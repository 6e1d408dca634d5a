/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/from_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "graph/layers.h"
#include "model/model.h"
#include "onnx/onnx_file.h"

#define MANY 1000000 /* weights */

typedef struct exported {
    sh_graph *graphs[2];
    float *weights;
    const float **parameters;
    sh_arena arena;
    Sh__Onnx__ModelProto *model;
    char *bytes;
    size_t count;
} exported;

static sh_status append(void *stream, const void *bytes, size_t count)
{
    assert_int_equal(fwrite(bytes, 1, count, stream), count);
    return SH_OK;
}

static void export_spec(exported *e, const char *spec, sh_problem problem, const float *mean,
                        const float *deviation)
{
    static const char *const properties[][2] = {{"task", "classify"}, {"names", "{0: \"a\"}"}};
    const sh_model_options options = {.spec = spec, .problem = problem};
    *e = (exported){0};
    sh_arena_init(&e->arena);
    for (size_t i = 0; i < 2; i++)
        assert_ok(sh_model_build(&e->graphs[i], &options, i + 1, SH_MODEL_EVALUATE));
    const sh_graph *graph = e->graphs[0];
    e->weights = calloc(sh_model_weights(graph), sizeof *e->weights);
    e->parameters = calloc(graph->parameter_count, sizeof *e->parameters);
    assert_non_null(e->weights);
    assert_non_null(e->parameters);
    if (sh_model_weights(graph) < MANY) /* else zeros, because drawing random weights is slow */
        sh_model_initialise(graph, 1, e->weights);
    const float *at = e->weights;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        e->parameters[i] = at;
        at += sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
    }
    const sh_from_graph of = {.graph = graph,
                              .twice = e->graphs[1],
                              .samples = graph->inputs[SH_MODEL_SAMPLES],
                              .answer = graph->outputs[3],
                              .input = "input",
                              .output = "output",
                              .name = spec,
                              .weights = e->parameters,
                              .mean = mean,
                              .deviation = deviation,
                              .properties = {properties, 2}};
    assert_ok(sh_onnx_from_graph(&e->model, &of, &e->arena));
    FILE *stream = open_memstream(&e->bytes, &e->count);
    assert_non_null(stream);
    assert_ok(sh_onnx_pack(e->model, append, stream));
    assert_int_equal(fclose(stream), 0);
}

static void release(exported *e)
{
    sh_arena_release(&e->arena);
    sh_graph_free(e->graphs[0]);
    sh_graph_free(e->graphs[1]);
    free(e->weights);
    free(e->parameters);
    free(e->bytes);
}

static void every_model_is_a_file_that_is_read_again(void **state)
{
    (void)state;
    for (const sh_model_def *const *def = sh_model_all(); *def != NULL; def++) {
        exported e;
        sh_onnx *read;
        export_spec(&e, (*def)->example, (*def)->example_problem, NULL, NULL);
        assert_ok(sh_onnx_open_bytes(&read, (*def)->name, e.bytes, e.count));
        assert_int_equal(sh_onnx_opset(read), SH_FROM_GRAPH_OPSET);
        const sh_graph *graph = e.graphs[0];
        for (size_t i = 0; i < graph->parameter_count; i++) {
            const sh_parameter *parameter = &graph->parameters[i];
            const sh_shape *shape = &sh_graph_type(graph, parameter->value)->shape;
            const Sh__Onnx__TensorProto *message = sh_onnx_initializer(read, parameter->name);
            sh_onnx_tensor tensor;
            assert_non_null(message);
            assert_ok(sh_onnx_tensor_of(&tensor, read, message));
            assert_int_equal(tensor.rank, shape->rank);
            assert_int_equal(tensor.count, sh_shape_count(shape));
            float *values = calloc(tensor.count, sizeof *values);
            assert_non_null(values);
            assert_ok(sh_onnx_floats(read, &tensor, values));
            assert_memory_equal(values, e.parameters[i], tensor.count * sizeof *values);
            free(values);
        }
        sh_onnx_close(read);
        release(&e);
    }
}

static void the_batch_has_any_size(void **state)
{
    (void)state;
    exported e;
    export_spec(&e, "lenet", (sh_problem){1, 28, 28, 10, SH_TARGET_CLASS}, NULL, NULL);
    const Sh__Onnx__GraphProto *graph = e.model->graph;
    const Sh__Onnx__TensorShapeProto *in = graph->input[0]->type->tensor_type->shape;
    assert_string_equal(graph->input[0]->name, "input");
    assert_string_equal(graph->output[0]->name, "output");
    assert_int_equal(in->n_dim, 4);
    assert_string_equal(in->dim[0]->dim_param, "N");
    assert_int_equal(in->dim[3]->dim_value, 28);
    size_t reshapes = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Sh__Onnx__NodeProto *node = graph->node[i];
        for (size_t t = 0; strcmp(node->op_type, "Reshape") == 0 && t < graph->n_initializer; t++)
            if (strcmp(graph->initializer[t]->name, node->input[1]) == 0) {
                int64_t first;
                memcpy(&first, graph->initializer[t]->raw_data.data, sizeof first);
                assert_int_equal(first, -1);
                reshapes++;
            }
    }
    assert_int_equal(reshapes, 1);
    release(&e);
}

static const Sh__Onnx__AttributeProto *attribute_of(const Sh__Onnx__NodeProto *node,
                                                    const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    fail_msg("%s has no %s", node->op_type, name);
    return NULL;
}

static void settings_are_written(void **state)
{
    (void)state;
    exported e;
    export_spec(&e, "resnet18", (sh_problem){3, 64, 64, 10, SH_TARGET_CLASS}, NULL, NULL);
    const Sh__Onnx__NodeProto *conv = e.model->graph->node[0];
    assert_string_equal(conv->op_type, "Conv");
    assert_string_equal(conv->input[0], "input");
    assert_string_equal(conv->input[1], "conv1.weight");
    const Sh__Onnx__AttributeProto *pads = attribute_of(conv, "pads");
    assert_int_equal(pads->n_ints, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pads->ints[i], 3);
    assert_int_equal(attribute_of(conv, "strides")->ints[1], 2);
    assert_int_equal(attribute_of(conv, "group")->i, 1);
    const Sh__Onnx__NodeProto *norm = e.model->graph->node[1];
    assert_string_equal(norm->op_type, "BatchNormalization");
    assert_string_equal(norm->input[1], "bn1.weight");
    assert_string_equal(norm->input[2], "bn1.bias");
    assert_string_equal(norm->input[3], "bn1.running_mean");
    assert_string_equal(norm->input[4], "bn1.running_var");
    assert_true(attribute_of(norm, "epsilon")->f == 1e-5f);
    release(&e);
}

static void pixels_can_be_normalised_inside(void **state)
{
    (void)state;
    static const float mean[] = {0.5f, 0.25f, 0.125f}, deviation[] = {1, 2, 4};
    static const char *const ops[] = {"Div", "Sub", "Div", "Conv"};
    exported e;
    export_spec(&e, "resnet:8", (sh_problem){3, 32, 32, 10, SH_TARGET_CLASS}, mean, deviation);
    const Sh__Onnx__GraphProto *graph = e.model->graph;
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(graph->node[i]->op_type, ops[i]);
        assert_string_equal(graph->node[i]->input[0],
                            i == 0 ? "input" : graph->node[i - 1]->output[0]);
    }
    release(&e);
}

static void unknown_operators_are_refused(void **state)
{
    (void)state;
    sh_graph *graph;
    sh_arena arena;
    Sh__Onnx__ModelProto *model;
    sh_arena_init(&arena);
    assert_ok(sh_graph_new(&graph));
    const sh_type type = {SH_F32, sh_shape_of(2, (size_t[]){1, 4})};
    const sh_value_id x = sh_graph_input(graph, type);
    const sh_value_id y = sh_graph_add(graph, SH_OP_gelu, NULL, &x, NULL);
    const sh_from_graph of = {.graph = graph,
                              .twice = graph,
                              .samples = x,
                              .answer = y,
                              .input = "x",
                              .output = "y",
                              .name = "one"};
    assert_fails(sh_onnx_from_graph(&model, &of, &arena), SH_UNSUPPORTED, "gelu");
    sh_arena_release(&arena);
    sh_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_is_a_file_that_is_read_again),
        cmocka_unit_test(the_batch_has_any_size),
        cmocka_unit_test(settings_are_written),
        cmocka_unit_test(pixels_can_be_normalised_inside),
        cmocka_unit_test(unknown_operators_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
