/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/roles.h"

#include "onnx/onnx_fixture.h"

static void test_roles_follow_from_the_operators(void **state)
{
    (void)state;
    /* T or S after the name of an initialiser is the expected role; without one it is a
     * constant. */
    static const char *const nodes[] = {
        "Conv x wT wbT -> c",
        "BatchNormalization c w2T w3T w4S w5S -> d",
        "Gemm d w6T w7T -> e",
        "Relu e -> f",
        "Add f w8T -> g",
        "Mul g ws1 -> h",
        "Mul ws2 h -> i",
        "Div i w1 -> j",
        "Gather w9T wi1 -> k",
        "Add k wi2 -> l",
        "Where l w10 w11 -> m",
        "LSTM m w12T w13T w14T - w15 w16 w17T -> n",
        "PRelu n w18T -> o",
        "Reshape o wi3 -> p",
        "Transpose w19T -> t1",
        "Cast t1 -> t2",
        "MatMul p t2 -> q",
        "Identity w20S -> t3",
        "BatchNormalization q w21T w22T t3 w23S -> r",
        "Identity w24T -> t4S", /* equal values stored once: a bias that is also a mean */
        "BatchNormalization r w25T w24T t4S w26S -> s",
        "Identity ws3 -> t5",
        "Mul s t5 -> u",
        "Identity w27 -> t6",
        "Where u t6 w28 -> v",
        "LayerNormalization v w29T w30T -> y",
    };
    sh_onnx *opened;
    assert_ok(fixture_open(&opened, fixture_graph(nodes, sizeof nodes / sizeof *nodes)));
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(opened);
    sh_onnx_role roles[64];
    assert_in_range(graph->n_initializer, 30, 64);
    assert_ok(sh_onnx_roles(roles, opened));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const char *name = graph->initializer[i]->name, last = name[strlen(name) - 1];
        const sh_onnx_role expected = last == 'T'   ? SH_ONNX_TRAINED
                                      : last == 'S' ? SH_ONNX_STATISTIC
                                                    : SH_ONNX_CONSTANT;
        if (roles[i] != expected)
            fail_msg("%s: %d", name, (int)roles[i]);
    }
    sh_onnx_close(opened);
}

static void test_operators_of_others_want_nothing(void **state)
{
    (void)state;
    static const char *const nodes[] = {"MatMul x w1a -> y"};
    sh_onnx *opened;
    sh_onnx_role role;
    Sh__Onnx__ModelProto *model = fixture_graph(nodes, 1);
    model->graph->node[0]->domain = fixture_text("com.example");
    assert_ok(fixture_open(&opened, model));
    assert_ok(sh_onnx_roles(&role, opened));
    assert_int_equal(role, SH_ONNX_CONSTANT);
    sh_onnx_close(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_roles_follow_from_the_operators, fixture_release),
        cmocka_unit_test_teardown(test_operators_of_others_want_nothing, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
