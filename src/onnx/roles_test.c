/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/roles.h"

#include "onnx/onnx_fixture.h"

/* A graph of these nodes, each "operator inputs -> output", whose inputs that begin with w are
 * initialisers: a float matrix, or by their second letter a scalar, a single number, an integer. */
static Sh__Onnx__ModelProto *make_model(const char *const *nodes, size_t count)
{
    Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
    Sh__Onnx__GraphProto *graph = model->graph;
    const Sh__Onnx__TensorProto *example = graph->initializer[0];
    graph->node = fixture_alloc(NULL, count * sizeof *graph->node);
    graph->initializer = fixture_alloc(NULL, 8 * count * sizeof *graph->initializer);
    graph->n_node = count;
    graph->n_initializer = 0;
    graph->input[0]->name = fixture_text("x");
    for (size_t i = 0; i < count; i++) {
        Sh__Onnx__NodeProto *node = fixture_alloc(NULL, sizeof *node);
        char *save, *text = fixture_text(nodes[i]);
        sh__onnx__node_proto__init(node);
        node->input = fixture_alloc(NULL, 16 * sizeof *node->input);
        node->output = fixture_alloc(NULL, sizeof *node->output);
        node->op_type = strtok_r(text, " ", &save);
        for (char *word; (word = strtok_r(NULL, " ", &save)) != NULL;) {
            if (strcmp(word, "->") == 0)
                break;
            const char *name = strcmp(word, "-") == 0 ? "" : word;
            node->input[node->n_input++] = fixture_text(name);
            bool is_known = name[0] != 'w';
            for (size_t k = 0; k < graph->n_initializer; k++)
                is_known = is_known || strcmp(graph->initializer[k]->name, name) == 0;
            if (is_known)
                continue;
            Sh__Onnx__TensorProto *tensor = fixture_alloc(NULL, sizeof *tensor);
            static int64_t one[1] = {1};
            *tensor = *example;
            tensor->name = fixture_text(name);
            if (name[1] == 's' || name[1] == '1') {
                tensor->n_dims = name[1] == '1';
                tensor->dims = one;
                tensor->raw_data.len = 4;
            }
            if (name[1] == 'i')
                tensor->data_type = SH_ONNX_INT32;
            graph->initializer[graph->n_initializer++] = tensor;
        }
        node->output[0] = strtok_r(NULL, " ", &save);
        node->n_output = 1;
        graph->output[0]->name = node->output[0];
        graph->node[i] = node;
    }
    return model;
}

static void test_roles_follow_from_the_operators(void **state)
{
    (void)state;
    /* T and S after an initialiser's name are what is expected; without one a constant. */
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
        "Identity w24T -> t4", /* equal values are stored once: a bias, and a mean */
        "BatchNormalization r w25T w24T t4 w26S -> s",
        "Identity ws3 -> t5",
        "Mul s t5 -> u",
        "Identity w27 -> t6",
        "Where u t6 w28 -> v",
        "LayerNormalization v w29T w30T -> y",
    };
    sh_onnx *opened;
    assert_ok(fixture_open(&opened, make_model(nodes, sizeof nodes / sizeof *nodes)));
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
    Sh__Onnx__ModelProto *model = make_model(nodes, 1);
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
