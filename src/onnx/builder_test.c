/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/builder.h"

#include <math.h>

#include "base/test.h"
#include "onnx/builder_parts.h"
#include "onnx/onnx_node.h"

static sh_builder *begin(size_t channels, size_t height, size_t width)
{
    sh_builder *builder;
    assert_ok(sh_builder_new(&builder, channels, height, width));
    return builder;
}

static void assert_shape(sh_builder *builder, sh_layer x, size_t rank, const size_t *dim)
{
    const sh_shape *shape = sh_builder_shape(builder, x, "test", 1);
    const sh_shape wanted = sh_shape_of(rank, dim);
    char found[SH_SHAPE_TEXT];
    if (shape == NULL)
        fail_msg("%s", builder->message);
    if (!sh_shape_equal(shape, &wanted))
        fail_msg("it gives %s", sh_shape_print(shape, found));
}

#define ASSERT_SHAPE(builder, x, ...)                                                              \
    assert_shape(builder, x, sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t),                     \
                 (const size_t[]){__VA_ARGS__})

static void test_layers_of_images_have_their_shapes(void **state)
{
    (void)state;
    sh_builder *b = begin(3, 8, 10);
    const sh_layer x = sh_build_samples(b);
    ASSERT_SHAPE(b, x, 1, 3, 8, 10);
    sh_layer y = sh_build_conv(b, x, "conv1", &(sh_conv_layer){.channels = 4, .kernel = 3});
    ASSERT_SHAPE(b, y, 1, 4, 6, 8);
    y = sh_build_apply(b, "Relu", sh_build_batch_norm(b, y, "bn1"));
    sh_layer z = sh_build_conv(
        b, y, "conv2",
        &(sh_conv_layer){.channels = 4, .kernel = 3, .padding = 1, .groups = 4, .no_bias = true});
    y = sh_build_pair(b, "Add", y, z);
    ASSERT_SHAPE(b, y, 1, 4, 6, 8);
    z = sh_build_conv(
        b, y, "up", &(sh_conv_layer){.channels = 2, .kernel = 2, .stride = 2, .transposed = true});
    ASSERT_SHAPE(b, z, 1, 2, 12, 16);
    ASSERT_SHAPE(b, sh_build_max_pool(b, y, 2, 0, 0), 1, 4, 3, 4);
    ASSERT_SHAPE(b, sh_build_avg_pool(b, y, 3, 1, 1), 1, 4, 6, 8);
    ASSERT_SHAPE(b, sh_build_concat(b, (sh_layer[]){y, y}, 2, 1), 1, 8, 6, 8);
    ASSERT_SHAPE(b, sh_build_transpose(b, y, (size_t[]){0, 2, 3, 1}), 1, 6, 8, 4);
    y = sh_build_dropout(b, sh_build_global_pool(b, y), 0.5f);
    ASSERT_SHAPE(b, y, 1, 4);
    y = sh_build_dense(b, y, "fc", 7);
    ASSERT_SHAPE(b, y, 1, 7);
    sh_network *network;
    assert_ok(sh_builder_network(&network, b, y, "own"));
    assert_non_null(strstr(network->spec, "own.onnx@"));
    sh_network_unref(network);
    sh_builder_free(b);
}

static void test_layers_of_steps_have_their_shapes(void **state)
{
    (void)state;
    sh_builder *b = begin(1, 6, 8); /* 6 steps of 8 */
    sh_layer x = sh_build_reshape(b, sh_build_samples(b), (int64_t[]){0, 6, 8}, 3);
    x = sh_build_layer_norm(b, sh_build_attention(b, x, "attention", 2), "ln");
    ASSERT_SHAPE(b, x, 1, 6, 8);
    x = sh_build_dense(b, x, "mlp", 16);
    ASSERT_SHAPE(b, x, 1, 6, 16);
    const size_t one[] = {16};
    x = sh_build_pair(b, "Mul", x, sh_build_weight(b, "gain", one, 1));
    x = sh_build_pair(b, "Sub", x, sh_build_numbers(b, (float[16]){1}, one, 1));
    x = sh_build_node(b, "LeakyRelu", &x, 1, "alpha = 0.25");
    ASSERT_SHAPE(b, x, 1, 6, 16);
    x = sh_build_dense(b, sh_build_flatten(b, x), "fc", 3);
    sh_network *network;
    assert_ok(sh_builder_network(&network, b, x, "steps"));
    assert_non_null(sh_onnx_initializer(network->model, "attention.query.weight"));
    assert_non_null(sh_onnx_initializer(network->model, "gain"));
    sh_network_unref(network);
    sh_builder_free(b);
}

static void test_settings_are_read(void **state)
{
    (void)state;
    sh_builder *b = begin(1, 4, 4);
    const sh_layer x = sh_build_samples(b);
    (void)sh_build_node(b, "Any", &x, 1,
                        " a=1 , b = -2.5,c = [1, 2],d=[], e = \"linear\", f = [0.5, 1], g = 1e-3");
    assert_int_equal(b->status, SH_OK);
    sh_onnx_node node = sh_onnx_node_of(b->made.node[0], 17);
    const int64_t *whole;
    const float *real;
    assert_int_equal(sh_onnx_node_integer(&node, "a", 0), 1);
    assert_float_equal(sh_onnx_node_number(&node, "b", 0), -2.5f, 0);
    assert_int_equal(sh_onnx_node_integers(&node, "c", &whole), 2);
    assert_int_equal(whole[1], 2);
    assert_int_equal(sh_onnx_node_integers(&node, "d", &whole), 0);
    assert_true(sh_onnx_node_says(&node, "e", "linear"));
    assert_int_equal(sh_onnx_node_numbers(&node, "f", &real), 2);
    assert_float_equal(real[0], 0.5f, 0);
    assert_float_equal(sh_onnx_node_number(&node, "g", 0), 1e-3f, 0);
    assert_null(node.bad);
    sh_builder_free(b);
    static const char *const bad[] = {"axis",     "axis 1",    "axis = ", "= 1",
                                      "a = [1",   "a = [1 2]", "a = \"b", "a = 1 b = 2",
                                      "a = 1e99", "a = .",     "a = 1e",  "a = 1234567890123456",
                                      "a = one"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        b = begin(1, 4, 4);
        const sh_layer samples = sh_build_samples(b);
        const sh_layer y = sh_build_node(b, "Softmax", &samples, 1, bad[i]);
        sh_network *network;
        assert_fails(sh_builder_network(&network, b, y, "own"), SH_INVALID, "Softmax: settings");
        sh_builder_free(b);
    }
}

static sh_layer small_kernel(sh_builder *b, sh_layer x)
{
    return sh_build_conv(b, x, "conv1", &(sh_conv_layer){.channels = 4});
}

static sh_layer uneven_groups(sh_builder *b, sh_layer x)
{
    return sh_build_conv(b, x, "conv1", &(sh_conv_layer){.channels = 4, .kernel = 1, .groups = 3});
}

static sh_layer nothing(sh_builder *b, sh_layer x)
{
    (void)x;
    return sh_build_apply(b, "Relu", SH_NO_LAYER);
}

static sh_layer unknown(sh_builder *b, sh_layer x)
{
    return sh_build_dense(b, sh_build_flatten(b, sh_build_apply(b, "Sing", x)), "fc", 3);
}

static sh_layer shapes_that_differ(sh_builder *b, sh_layer x)
{
    const sh_layer y = sh_build_conv(b, x, "conv1", &(sh_conv_layer){.channels = 4, .kernel = 3});
    return sh_build_dense(b, sh_build_flatten(b, sh_build_pair(b, "Add", x, y)), "fc", 3);
}

static sh_layer no_weights(sh_builder *b, sh_layer x)
{
    return sh_build_flatten(b, x);
}

static sh_layer uneven_heads(sh_builder *b, sh_layer x)
{
    return sh_build_attention(b, sh_build_reshape(b, x, (int64_t[]){0, 8, 16}, 3), "a", 3);
}

static sh_layer same_name(sh_builder *b, sh_layer x)
{
    x = sh_build_dense(b, sh_build_flatten(b, x), "fc", 3);
    return sh_build_dense(b, x, "fc", 3);
}

static void test_failures_are_kept(void **state)
{
    (void)state;
    static const struct {
        sh_layer (*build)(sh_builder *b, sh_layer x);
        sh_status status;
        const char *says;
    } rows[] = {
        {small_kernel, SH_INVALID, "layer conv1: a kernel of 0"},
        {uneven_groups, SH_INVALID, "layer conv1"},
        {nothing, SH_INVALID, "input is not a layer"},
        {unknown, SH_UNSUPPORTED, "(Sing)"},
        {shapes_that_differ, SH_UNSUPPORTED, "(Add)"},
        {no_weights, SH_INVALID, "no weights that can be trained"},
        {uneven_heads, SH_INVALID, "layer a: 3 heads for 16 features"},
        {same_name, SH_FORMAT, "fc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sh_builder *b = begin(2, 8, 8);
        sh_network *network;
        sh_layer y = rows[i].build(b, sh_build_samples(b));
        if (b->status != SH_OK)
            assert_int_equal(sh_build_apply(b, "Relu", y), SH_NO_LAYER);
        assert_fails(sh_builder_network(&network, b, y, "own"), rows[i].status, rows[i].says);
        sh_builder_free(b);
    }
    sh_builder *b;
    assert_fails(sh_builder_new(&b, 0, 1, 1), SH_LIMIT, "samples");
    sh_builder_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_images_have_their_shapes),
        cmocka_unit_test(test_layers_of_steps_have_their_shapes),
        cmocka_unit_test(test_settings_are_read),
        cmocka_unit_test(test_failures_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
