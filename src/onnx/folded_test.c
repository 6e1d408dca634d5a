/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/folded.h"

#include "base/test.h"
#include "onnx/onnx_fixture.h"

/* The convolution of cnn.onnx with these names, followed by its batch norm or by an Identity. */
static sh_onnx_folded find(const char *weight, const char *bias, const char *result,
                           bool normalised)
{
    Sh__Onnx__ModelProto *model = fixture_unpack("cnn.onnx");
    Sh__Onnx__GraphProto *graph = model->graph;
    sh_onnx *opened;
    for (size_t i = 0; i < graph->n_node; i++) {
        Sh__Onnx__NodeProto *node = graph->node[i];
        if (strcmp(node->op_type, "BatchNormalization") == 0 && !normalised) {
            node->op_type = fixture_text("Identity");
            node->n_input = node->n_output = 1;
            node->n_attribute = 0;
        }
        if (strcmp(node->op_type, "Conv") != 0)
            continue;
        for (size_t k = 0; k < graph->n_initializer; k++) {
            if (strcmp(graph->initializer[k]->name, node->input[1]) == 0)
                graph->initializer[k]->name = fixture_text(weight);
            if (strcmp(graph->initializer[k]->name, node->input[2]) == 0)
                graph->initializer[k]->name = fixture_text(bias);
        }
        for (size_t k = 0; result != NULL && k < graph->n_node; k++)
            for (size_t j = 0; j < graph->node[k]->n_input; j++)
                if (strcmp(graph->node[k]->input[j], node->output[0]) == 0)
                    graph->node[k]->input[j] = fixture_text(result);
        if (result != NULL)
            node->output[0] = fixture_text(result);
        node->input[1] = fixture_text(weight);
        node->input[2] = fixture_text(bias);
    }
    assert_ok(fixture_open(&opened, model));
    const sh_onnx_folded found = sh_onnx_find_folded(opened);
    sh_onnx_close(opened);
    return found;
}

static void test_names_say_it(void **state)
{
    (void)state;
    static const struct {
        const char *weight, *bias, *result;
        bool normalised;
        size_t possible, certain;
    } rows[] = {
        {"onnx::Conv_12", "onnx::Conv_13", NULL, false, 0, 1},
        {"onnx::Conv_12", "onnx::Conv_13", NULL, true, 0, 0},
        {"conv1.weight", "conv1.weight_bias", NULL, false, 0, 1},
        {"conv1.weight", "conv1.bias", NULL, false, 1, 0},
        {"conv1.weight", "conv1.bias", "getitem_3", false, 0, 1},
        {"c/Conv2D_weights_fused_bn", "c/Conv2D_bias_fused_bn", NULL, false, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const sh_onnx_folded found =
            find(rows[i].weight, rows[i].bias, rows[i].result, rows[i].normalised);
        assert_int_equal(found.layers, 1);
        assert_int_equal(found.norms, rows[i].normalised);
        assert_int_equal(found.possible, rows[i].possible);
        assert_int_equal(found.certain, rows[i].certain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_names_say_it, fixture_release)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
