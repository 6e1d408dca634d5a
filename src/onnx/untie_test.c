/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/untie.h"

#include "onnx/onnx_fixture.h"

/* Prints the inputs of each node after its operator. */
static const char *print_nodes(char *text, size_t bytes, const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    size_t used = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s(", graph->node[i]->op_type);
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            used += (size_t)snprintf(text + used, bytes - used, k == 0 ? "%s" : " %s",
                                     graph->node[i]->input[k]);
        used += (size_t)snprintf(text + used, bytes - used, ") ");
    }
    return text;
}

static void each_user_of_a_merged_tensor_has_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *nodes[8];
        const char *expected;
        size_t initializers;
    } cases[] = {
        /* An untrained network as PyTorch writes it: ones and zeros. */
        {{"Identity wo -> bn2.var", "Identity wz -> bn2.mean", "Identity wo -> bn2.weight",
          "BatchNormalization x wo wz wz wo -> a",
          "BatchNormalization a bn2.weight wz bn2.mean bn2.var -> y"},
         "BatchNormalization(x wo wz wz.2 wo.2) "
         "BatchNormalization(a bn2.weight wz.3 bn2.mean bn2.var) ",
         8},
        /* A statistic of two nodes; an output that is read twice; weights that are shared on
         * purpose. */
        {{"BatchNormalization x wa wb wm wv -> a", "Conv a wc wm -> b",
          "BatchNormalization b wa wb wm wv -> y"},
         "BatchNormalization(x wa wb wm wv) Conv(a wc wm.2) "
         "BatchNormalization(b wa wb wm.3 wv.2) ",
         8},
        {{"Identity wm -> i", "Identity i -> j", "BatchNormalization x wa wb j wv -> a",
          "BatchNormalization a wa wb j wu -> y"},
         "Identity(wm) BatchNormalization(x wa wb j wv) BatchNormalization(a wa wb wm.2 wu) ",
         7},
        {{"Gemm x wa wb -> a", "Gemm a wa wb -> y"}, "Gemm(x wa wb) Gemm(a wa wb) ", 2},
        {{"BatchNormalization x wa wb wm wm -> wm.2"}, "BatchNormalization(x wa wb wm wm.3) ", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        size_t count = 0;
        sh_onnx *opened;
        while (count < 8 && cases[i].nodes[count] != NULL)
            count++;
        assert_ok(fixture_open(&opened, fixture_graph(cases[i].nodes, count)));
        assert_string_equal(print_nodes(text, sizeof text, opened), cases[i].expected);
        const Sh__Onnx__GraphProto *graph = sh_onnx_graph(opened);
        assert_int_equal(graph->n_initializer, cases[i].initializers);
        for (size_t k = 0; k < graph->n_initializer; k++) {
            sh_onnx_tensor tensor;
            float values[8 * 16];
            assert_non_null(sh_onnx_initializer(opened, graph->initializer[k]->name));
            assert_ok(sh_onnx_tensor_of(&tensor, opened, graph->initializer[k]));
            assert_ok(sh_onnx_floats(opened, &tensor, values));
        }
        sh_onnx_close(opened);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_user_of_a_merged_tensor_has_its_own, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
