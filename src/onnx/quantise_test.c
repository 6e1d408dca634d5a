/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/quantise.h"

#include <math.h>
#include <string.h>

#include "base/test.h"
#include "onnx/emitter.h"
#include "onnx/graph_parts.h"

#define NODES 6

/* x -> Conv -> Relu -> MaxPool -> Flatten -> Gemm -> Sigmoid -> y */
typedef struct small {
    sh_arena arena;
    Sh__Onnx__ModelProto model;
    Sh__Onnx__GraphProto graph;
    Sh__Onnx__NodeProto *nodes[NODES];
    Sh__Onnx__TensorProto *tensors[8];
    Sh__Onnx__ValueInfoProto *ends[2];
    sh_emitter e;
    sh_onnx_grid of[NODES];
    sh_onnx_grids grids;
} small;

static const float convolution[] = {1, -0.5f, 0, 0}; /* [2, 1, 1, 2] */
static const float convolution_bias[] = {0.25f, -1};
static const float dense[] = {2, 1, -4, 0.5f}; /* [2, 2] */

static void begin(small *s, int64_t opset)
{
    static const sh_onnx_properties none = {0};
    memset(s, 0, sizeof *s);
    sh_arena_init(&s->arena);
    sh__onnx__model_proto__init(&s->model);
    sh__onnx__graph_proto__init(&s->graph);
    s->graph.node = s->nodes;
    s->graph.initializer = s->tensors;
    s->e = (sh_emitter){.arena = &s->arena, .made = &s->graph, .properties = &none};
    static char x[] = "x", w[] = "w", b[] = "b", c[] = "c", r[] = "r", p[] = "p", f[] = "f",
                v[] = "v", g[] = "g", y[] = "y";
    sh_emit_tensor(&s->e, w, &(sh_shape){4, {2, 1, 1, 2}}, convolution);
    sh_emit_tensor(&s->e, b, &(sh_shape){1, {2}}, convolution_bias);
    sh_emit_tensor(&s->e, v, &(sh_shape){2, {2, 2}}, dense);
    sh_emit(&s->e, "Conv", 3, (char *[]){x, w, b}, c);
    sh_emit(&s->e, "Relu", 1, (char *[]){c}, r);
    sh_emit(&s->e, "MaxPool", 1, (char *[]){r}, p);
    sh_emit(&s->e, "Flatten", 1, (char *[]){p}, f);
    sh_emit(&s->e, "Gemm", 2, (char *[]){f, v}, g);
    sh_emit(&s->e, "Sigmoid", 1, (char *[]){g}, y);
    s->ends[0] = sh_emit_value_info(&s->e, "x", &(sh_shape){4, {1, 1, 2, 3}}, 0);
    s->ends[1] = sh_emit_value_info(&s->e, "y", &(sh_shape){2, {1, 2}}, 0);
    s->graph.input = &s->ends[0];
    s->graph.output = &s->ends[1];
    s->graph.n_input = s->graph.n_output = 1;
    sh_emit_frame(&s->e, &s->model, opset, 8);
    assert_ok(s->e.status);
    for (size_t i = 0; i < NODES; i++)
        s->of[i] = (sh_onnx_grid){.scale = 0.5f};
    s->grids = (sh_onnx_grids){.of = s->of, .input = {.scale = 0.125f, .zero = 100}};
}

static void assert_operators(const Sh__Onnx__ModelProto *model, const char *expected)
{
    char text[512] = "";
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s ", model->graph->node[i]->op_type);
    }
    assert_string_equal(text, expected);
}

static const void *elements(const Sh__Onnx__ModelProto *model, const char *name, sh_onnx_type type)
{
    const Sh__Onnx__TensorProto *tensor = sh_onnx_find_tensor(model->graph, name);
    if (tensor == NULL)
        fail_msg("there is no %s", name);
    assert_int_equal(tensor->data_type, type);
    return tensor->raw_data.data;
}

static void test_layers_in_integers(void **state)
{
    (void)state;
    small s;
    Sh__Onnx__ModelProto *made;
    begin(&s, 17);
    assert_ok(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_QUANTISED, &s.arena));
    assert_operators(made, "QuantizeLinear DequantizeLinear DequantizeLinear DequantizeLinear Conv "
                           "Relu QuantizeLinear DequantizeLinear MaxPool QuantizeLinear "
                           "DequantizeLinear Flatten QuantizeLinear DequantizeLinear "
                           "DequantizeLinear Gemm Sigmoid ");
    static const int8_t weight[] = {127, -64, 0, 0}, by_column[] = {64, 85, -127, 43};
    const float *scale = elements(made, "w.scale", SH_ONNX_FLOAT);
    assert_memory_equal(elements(made, "w", SH_ONNX_INT8), weight, sizeof weight);
    assert_true(scale[0] == 1.0f / 127);
    assert_true(scale[1] > 0 && isfinite(scale[1])); /* zeros; the bias needs room */
    const int32_t *bias = elements(made, "b", SH_ONNX_INT32);
    const float *steps = elements(made, "b.scale", SH_ONNX_FLOAT);
    for (size_t c = 0; c < 2; c++)
        assert_true(fabsf((float)bias[c] * steps[c] - convolution_bias[c]) <= steps[c]);
    assert_true(steps[0] == 0.125f * scale[0]);
    assert_memory_equal(elements(made, "v", SH_ONNX_INT8), by_column, sizeof by_column);
    assert_int_equal(*(const uint8_t *)elements(made, "x.zero", SH_ONNX_UINT8), 100);
    assert_true(*(const float *)elements(made, "x.scale", SH_ONNX_FLOAT) == 0.125f);
    /* A pool has the grid of its input. */
    assert_true(*(const float *)elements(made, "p.scale", SH_ONNX_FLOAT) == 0.5f);
    assert_int_equal(made->graph->node[4]->n_input, 3);
    assert_string_equal(made->graph->node[4]->input[1], "w.dequantised");
    assert_int_equal(s.graph.n_node, NODES); /* the model is unchanged */
    sh_arena_release(&s.arena);
}

/* Weights use all steps that the limit of 16 bits allows. */
static void test_pairs_fit_in_16_bits(void **state)
{
    (void)state;
    static const struct {
        float row[4]; /* of a dense layer */
        int8_t steps[4];
    } rows[] = {
        {{1, 1, -1, -1}, {64, 64, -64, -64}},
        {{1, -1, 0, 0}, {127, -127, 0, 0}}, /* opposite signs cancel */
        {{3, 1, 0.5f, -1}, {96, 32, 16, -32}},
        {{-3, 1, 1, -1}, {-96, 32, 32, -32}},
        {{1, 0.001f, 0, 0}, {127, 0, 0, 0}},
        {{127, 129, 0, 0}, {63, 64, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        small s;
        Sh__Onnx__ModelProto *made;
        float columns[8] = {0};
        begin(&s, 17);
        for (size_t k = 0; k < 4; k++)
            columns[2 * k] = rows[i].row[k];
        Sh__Onnx__TensorProto *dense_weight = sh_onnx_find_tensor(&s.graph, "v");
        dense_weight->dims[0] = 4;
        dense_weight->raw_data = (ProtobufCBinaryData){sizeof columns, (uint8_t *)columns};
        assert_ok(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_QUANTISED, &s.arena));
        const int8_t *found = elements(made, "v", SH_ONNX_INT8);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(found[2 * k], rows[i].steps[k]);
        sh_arena_release(&s.arena);
    }
}

/* A depthwise layer does not add products of two inputs. */
static void test_a_depthwise_convolution_keeps_8_bits(void **state)
{
    (void)state;
    small s;
    Sh__Onnx__ModelProto *made;
    static const float equal[] = {1, 1, 1, 1};
    begin(&s, 17);
    Sh__Onnx__TensorProto *kernel = sh_onnx_find_tensor(&s.graph, "w");
    kernel->raw_data = (ProtobufCBinaryData){sizeof equal, (uint8_t *)equal};
    for (int64_t group = 1; group <= 2; group++) {
        const int8_t steps = group == 1 ? 64 : 127;
        if (group == 2)
            sh_emit_int(&s.e, s.nodes[0], "group", group);
        assert_ok(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_QUANTISED, &s.arena));
        const int8_t *found = elements(made, "w", SH_ONNX_INT8);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(found[i], steps);
    }
    sh_arena_release(&s.arena);
}

static void test_the_same_in_float32(void **state)
{
    (void)state;
    small s;
    Sh__Onnx__ModelProto *made;
    begin(&s, 17);
    assert_ok(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_SIMULATED, &s.arena));
    assert_operators(made,
                     "Div Add Sub Clip Mul Conv Relu Div Add Sub Clip Mul MaxPool Div Add Sub "
                     "Clip Mul Flatten Div Add Sub Clip Mul Gemm Sigmoid ");
    const float *weight = elements(made, "w", SH_ONNX_FLOAT);
    assert_true(fabsf(weight[0] - 1) < 1e-6f);
    assert_true(fabsf(weight[1] + 64.0f / 127) < 1e-6f);
    sh_arena_release(&s.arena);
}

static void test_what_is_not_known_stays_float(void **state)
{
    (void)state;
    small s;
    Sh__Onnx__ModelProto *made;
    begin(&s, 17);
    s.grids.input.scale = 0;
    assert_ok(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_QUANTISED, &s.arena));
    assert_int_equal(sh_onnx_find_tensor(made->graph, "w")->data_type, SH_ONNX_FLOAT);
    assert_int_equal(sh_onnx_find_tensor(made->graph, "v")->data_type, SH_ONNX_INT8);
    memset(s.of, 0, sizeof s.of);
    assert_fails(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_QUANTISED, &s.arena),
                 SH_UNSUPPORTED, "no layer that can be quantised");
    sh_arena_release(&s.arena);
    begin(&s, 12);
    assert_fails(sh_onnx_quantise(&made, &s.model, &s.grids, SH_ONNX_QUANTISED, &s.arena),
                 SH_UNSUPPORTED, "operators of version 12; export it with version 13");
    sh_arena_release(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_in_integers),
        cmocka_unit_test(test_pairs_fit_in_16_bits),
        cmocka_unit_test(test_a_depthwise_convolution_keeps_8_bits),
        cmocka_unit_test(test_the_same_in_float32),
        cmocka_unit_test(test_what_is_not_known_stays_float),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
