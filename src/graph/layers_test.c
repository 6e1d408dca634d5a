/* SPDX-License-Identifier: Apache-2.0 */
/* backend/ops_test.c and backend/values_test.c test the values. */
#include "graph/layers.h"

#include <math.h>

#include "base/test.h"

#define SHAPE(...)                                                                                 \
    sh_shape_of(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), (size_t[]){__VA_ARGS__})

static sh_net begin(bool training, sh_shape shape, sh_value_id *x)
{
    sh_net net = {.training = training};
    assert_ok(sh_graph_new(&net.graph));
    *x = sh_graph_input(net.graph, (sh_type){SH_F32, shape});
    net.keys =
        sh_graph_input(net.graph, (sh_type){SH_I32, sh_shape_of(2, (size_t[]){shape.dim[0], 2})});
    return net;
}

static void assert_shape(const sh_net *net, sh_value_id x, sh_shape expected)
{
    char is[SH_SHAPE_TEXT], wanted[SH_SHAPE_TEXT];
    assert_ok(sh_graph_status(net->graph));
    const sh_shape *shape = &sh_graph_type(net->graph, x)->shape;
    if (!sh_shape_equal(shape, &expected))
        fail_msg("the shape is %s, expected %s", sh_shape_print(shape, is),
                 sh_shape_print(&expected, wanted));
}

static void assert_parameter(const sh_net *net, size_t index, const char *name, sh_shape shape)
{
    assert_true(index < net->graph->parameter_count);
    assert_string_equal(net->graph->parameters[index].name, name);
    assert_shape(net, net->graph->parameters[index].value, shape);
}

static void end(sh_net *net, sh_value_id y)
{
    const sh_value_id seed = sh_graph_input(net->graph, *sh_graph_type(net->graph, y));
    sh_graph_differentiate(net->graph, y, seed);
    assert_ok(sh_graph_verify(net->graph));
    assert_ok(sh_graph_status(net->graph));
    sh_graph_free(net->graph);
}

/* The extents are PyTorch's. */
static void windows_of_pooling(void **state)
{
    (void)state;
    static const struct {
        size_t extent, pooled;
        sh_pool_options options;
    } cases[] = {
        {8, 4, {.kernel = 2}},
        {9, 4, {.kernel = 2}},
        {9, 5, {.kernel = 2, .ceil = true}},
        {8, 4, {.kernel = 2, .ceil = true}},
        {111, 55, {.kernel = 3, .stride = 2}},
        {112, 56, {.kernel = 3, .stride = 2, .ceil = true}},
        {112, 56, {.kernel = 3, .stride = 2, .padding = 1}},
        {112, 57, {.kernel = 3, .stride = 2, .padding = 1, .ceil = true}},
        {5, 2, {.kernel = 2, .stride = 3, .padding = 1, .ceil = true}}, /* not in the padding */
        {6, 3, {.kernel = 2, .stride = 3, .padding = 1, .ceil = true}},
        {7, 1, {.kernel = 7, .ceil = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t extent = cases[i].extent, pooled = cases[i].pooled;
        sh_value_id x;
        sh_net net = begin(true, SHAPE(2, 3, extent, extent), &x);
        const sh_value_id y = sh_layer_max_pool(&net, x, &cases[i].options);
        assert_shape(&net, y, SHAPE(2, 3, pooled, pooled));
        const sh_value_id line = sh_layer_reshape(&net, x, SHAPE(2, 3 * extent, extent));
        assert_shape(&net, sh_layer_max_pool(&net, line, &cases[i].options),
                     SHAPE(2, 3 * extent, pooled));
        assert_shape(&net, sh_layer_avg_pool(&net, x, &cases[i].options),
                     SHAPE(2, 3, pooled, pooled));
        sh_graph_free(net.graph);
    }
}

static void pooling_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        sh_pool_options options;
        const char *message;
    } cases[] = {
        {{0}, "kernel and stride must be at least 1"},
        {{.kernel = 2, .padding = 2}, "padding must be smaller than the kernel"},
        {{.kernel = 7}, "a kernel of 7x7 does not fit into input 2x3x6x6"},
        {{.kernel = 9, .ceil = true}, "a kernel of 9x9 does not fit into input 2x3x6x6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int average = 0; average < 2; average++) {
            sh_value_id x;
            sh_net net = begin(true, SHAPE(2, 3, 6, 6), &x);
            const sh_value_id y = average ? sh_layer_avg_pool(&net, x, &cases[i].options)
                                          : sh_layer_max_pool(&net, x, &cases[i].options);
            assert_int_equal(y, SH_NO_VALUE);
            assert_fails(sh_graph_status(net.graph), SH_INVALID, cases[i].message);
            sh_graph_free(net.graph);
        }
}

static void convolutions_along_a_line(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(true, SHAPE(2, 6, 20), &x);
    x = sh_layer_conv1d(
        &net, x, "conv",
        &(sh_conv_options){.channels = 8, .kernel = 5, .stride = 2, .padding = 2, .groups = 2});
    assert_shape(&net, x, SHAPE(2, 8, 10));
    x = sh_layer_group_norm(&net, x, "norm", 4);
    x = sh_layer_max_pool(&net, sh_layer_leaky_relu(&net, x, 0.1f),
                          &(sh_pool_options){.kernel = 2});
    assert_shape(&net, x, SHAPE(2, 8, 5));
    x = sh_layer_layer_norm(&net, sh_layer_global_pool(&net, x), "last");
    assert_shape(&net, x, SHAPE(2, 8));
    assert_parameter(&net, 0, "conv.weight", SHAPE(8, 3, 5));
    assert_parameter(&net, 1, "conv.bias", SHAPE(8));
    assert_parameter(&net, 2, "norm.weight", SHAPE(8));
    assert_parameter(&net, 3, "norm.bias", SHAPE(8));
    assert_parameter(&net, 4, "last.weight", SHAPE(8));
    assert_parameter(&net, 5, "last.bias", SHAPE(8));
    assert_int_equal(net.graph->parameters[2].initial.kind, SH_INITIAL_CONSTANT);
    assert_float_equal(net.graph->parameters[2].initial.size, 1, 0);
    assert_float_equal(net.graph->parameters[0].initial.size, 0.25819889f, 1e-7f);
    end(&net, sh_layer_softmax(&net, x, 1));
}

static void values_are_joined(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(true, SHAPE(2, 3, 4, 4), &x);
    const sh_value_id a =
        sh_layer_conv2d(&net, x, "a", &(sh_conv_options){.channels = 5, .kernel = 1});
    const sh_value_id joined = sh_layer_concat(&net, (sh_value_id[]){a, x, a}, 3, 1);
    assert_shape(&net, joined, SHAPE(2, 13, 4, 4));
    const sh_value_id gate = sh_layer_global_pool(&net, joined);
    const sh_value_id gated = sh_layer_multiply(&net, joined, gate);
    assert_shape(&net, gated, SHAPE(2, 13, 4, 4));
    end(&net, sh_layer_multiply(&net, gated, joined));
}

static void a_failure_goes_through_all_layers(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(true, SHAPE(2, 3, 4), &x);
    const sh_value_id bad = sh_layer_reshape(&net, x, SHAPE(5));
    assert_int_equal(bad, SH_NO_VALUE);
    const sh_conv_options conv = {.channels = 1, .kernel = 1};
    const sh_pool_options pool = {.kernel = 1};
    const sh_value_id made[] = {
        sh_layer_conv2d(&net, bad, "a", &conv),
        sh_layer_conv1d(&net, bad, "b", &conv),
        sh_layer_layer_norm(&net, bad, "c"),
        sh_layer_group_norm(&net, bad, "d", 1),
        sh_layer_max_pool(&net, bad, &pool),
        sh_layer_avg_pool(&net, bad, &pool),
        sh_layer_global_pool(&net, bad),
        sh_layer_leaky_relu(&net, bad, 0),
        sh_layer_softmax(&net, bad, 0),
        sh_layer_dropout(&net, bad, 0.5f),
        sh_layer_add(&net, bad, x),
        sh_layer_multiply(&net, x, bad),
        sh_layer_concat(&net, (sh_value_id[]){x, bad}, 2, 0),
        sh_layer_flatten(&net, bad),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        assert_int_equal(made[i], SH_NO_VALUE);
    assert_fails(sh_graph_status(net.graph), SH_INVALID, "reshape: 2x3x4 and 5");
    sh_graph_free(net.graph);
}

static void dropout_is_for_training(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(true, SHAPE(2, 3), &x);
    x = sh_layer_dropout(&net, sh_layer_linear(&net, x, "fc", 4), 0.5f);
    x = sh_layer_dropout(&net, sh_layer_dropout(&net, x, 0), 0.25f);
    assert_int_equal(net.graph->nodes[1].op, SH_OP_dropout);
    assert_int_equal(net.graph->nodes[1].attributes.layer, 0);
    assert_int_equal(net.graph->nodes[2].op, SH_OP_dropout);
    assert_int_equal(net.graph->nodes[2].attributes.layer, 2); /* p = 0: no node, but counted */
    assert_int_equal(net.graph->node_count, 3);
    end(&net, x);

    net = begin(false, SHAPE(2, 3), &x);
    assert_int_equal(sh_layer_dropout(&net, x, 0.5f), x);
    sh_graph_free(net.graph);
}

static void probabilities_out_of_range_are_refused(void **state)
{
    (void)state;
    static const float bad[] = {-0.1f, 1, 2, NAN};
    for (int training = 0; training < 2; training++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            sh_value_id x;
            sh_net net = begin(training, SHAPE(2, 3), &x);
            assert_int_equal(sh_layer_dropout(&net, x, bad[i]), SH_NO_VALUE);
            assert_fails(sh_graph_status(net.graph), SH_INVALID, "is not in [0, 1)");
            sh_graph_free(net.graph);
        }
}

static sh_status infer(sh_op op, sh_attributes attributes, sh_shape a, sh_shape b)
{
    sh_type out[SH_MAX_OUTPUTS];
    const sh_type in[] = {{SH_F32, a}, {SH_F32, b}, {SH_F32, b}};
    return sh_op_infer(op, &attributes, in, sh_op_about(op)->input_count, out);
}

#define REFUSED(message, ...) assert_fails(infer(__VA_ARGS__), SH_INVALID, message)

static void settings_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    const sh_shape none = {0}, pair = SHAPE(2, 6), four = SHAPE(2, 6, 3, 3), six = SHAPE(6);
    REFUSED("slice: 1 + 1 left out of dimension 0 of 2x6: nothing remains", SH_OP_slice,
            ((sh_attributes){.before = {1}, .after = {1}}), pair, none);
    REFUSED("slice: 3 + 0 left out of dimension 0", SH_OP_slice, ((sh_attributes){.before = {3}}),
            pair, none);
    REFUSED("the order must name each of 2 dimensions once, not 0 again", SH_OP_transpose,
            ((sh_attributes){.order = {0, 0}}), pair, none);
    REFUSED("once, not 2 again", SH_OP_transpose, ((sh_attributes){.order = {2, 0}}), pair, none);
    REFUSED("mean: 2x6 does not have 2 dimensions from 1 on", SH_OP_mean,
            ((sh_attributes){.axis = 1, .axes = 2}), pair, none);
    REFUSED("mean: 2x6 does not have 0 dimensions from 1 on", SH_OP_mean,
            ((sh_attributes){.axis = 1}), pair, none);
    REFUSED("softmax: 2x6 has no dimension 2", SH_OP_softmax, ((sh_attributes){.axis = 2}), pair,
            none);
    REFUSED("leaky_relu: the slope -1 is negative", SH_OP_leaky_relu,
            ((sh_attributes){.number = -1}), pair, none);
    REFUSED("matmul: 2x6 and 2x6 cannot be multiplied", SH_OP_matmul, ((sh_attributes){0}), pair,
            pair);
    REFUSED("matmul: 2x6 transposed and 2x6 transposed cannot", SH_OP_matmul,
            ((sh_attributes){.transposed = {true, true}}), pair, pair);
    REFUSED("matmul: a is 6, expected a matrix", SH_OP_matmul, ((sh_attributes){0}), six, six);
    REFUSED("group_norm: 6 channels do not divide into 4 groups", SH_OP_group_norm,
            ((sh_attributes){.number = 1, .groups = 4}), four, six);
    REFUSED("group_norm: 6 channels do not divide into 0 groups", SH_OP_group_norm,
            ((sh_attributes){.number = 1}), four, six);
    REFUSED("layer_norm: epsilon must be above 0", SH_OP_layer_norm, ((sh_attributes){0}), pair,
            six);
    REFUSED("max_pool: dilation is not supported", SH_OP_max_pool,
            ((sh_attributes){.kernel = {2, 2}, .stride = {1, 1}, .dilation = {1, 2}}), four, none);
    REFUSED("max_pool: the last windows are outside of input 2x6x3x3", SH_OP_max_pool,
            ((sh_attributes){.kernel = {1, 1}, .stride = {1, 1}, .after = {0, 0, 1, 0}}), four,
            none);
}

static void smoothing_out_of_range_is_refused(void **state)
{
    (void)state;
    const sh_type in[] = {{SH_F32, SHAPE(2, 6)}, {SH_I32, SHAPE(2)}};
    static const float bad[] = {-0.1f, 1, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_type out[SH_MAX_OUTPUTS];
        const sh_attributes attributes = {.number = bad[i]};
        assert_fails(sh_op_infer(SH_OP_cross_entropy, &attributes, in, 2, out), SH_INVALID,
                     "is not in [0, 1)");
    }
}

static void concat_refuses_what_does_not_fit(void **state)
{
    (void)state;
    sh_type out[SH_MAX_OUTPUTS];
    const sh_type in[] = {{SH_F32, SHAPE(2, 6)}, {SH_F32, SHAPE(3, 6)}};
    assert_fails(sh_op_infer(SH_OP_concat, &(sh_attributes){.axis = 1}, in, 2, out), SH_INVALID,
                 "apart from the joined dimension");
    assert_fails(sh_op_infer(SH_OP_concat, &(sh_attributes){.axis = 2}, in, 2, out), SH_INVALID,
                 "have no dimension 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_pooling),
        cmocka_unit_test(pooling_that_makes_no_sense_is_refused),
        cmocka_unit_test(convolutions_along_a_line),
        cmocka_unit_test(values_are_joined),
        cmocka_unit_test(a_failure_goes_through_all_layers),
        cmocka_unit_test(dropout_is_for_training),
        cmocka_unit_test(probabilities_out_of_range_are_refused),
        cmocka_unit_test(settings_that_make_no_sense_are_refused),
        cmocka_unit_test(smoothing_out_of_range_is_refused),
        cmocka_unit_test(concat_refuses_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
