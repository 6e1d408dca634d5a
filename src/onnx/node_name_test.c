/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/node_name.h"

#include "base/test.h"

static void test_nodes_are_named_safely(void **state)
{
    (void)state;
    Sh__Onnx__NodeProto node = SH__ONNX__NODE_PROTO__INIT;
    Sh__Onnx__NodeProto *nodes[1] = {&node};
    Sh__Onnx__GraphProto graph = SH__ONNX__GRAPH_PROTO__INIT;
    char text[SH_ONNX_NODE_TEXT], name[400] = "";
    graph.node = nodes;
    graph.n_node = 1;
    node.op_type = (char[]){"Conv"};
    assert_string_equal(sh_onnx_node_name(text, &graph, 0), "node 1 (Conv)");
    node.name = (char[]){"/conv1/\x1b[2JConv"};
    assert_string_equal(sh_onnx_node_name(text, &graph, 0), "node '/conv1/?[2JConv' (Conv)");
    for (int i = 0; i < 100; i++)
        strcat(name, "\xe2\x82\xac"); /* three bytes each */
    node.name = node.op_type = name;
    sh_onnx_node_name(text, &graph, 0);
    assert_in_range(strlen(text), 190, SH_ONNX_NODE_TEXT - 1);
    assert_non_null(strstr(text, "\xac...' ("));
    assert_string_equal(text + strlen(text) - 5, "\xac...)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_are_named_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
