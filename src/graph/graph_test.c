/* SPDX-License-Identifier: Apache-2.0 */
/* backend/ops_test.c tests operators' results. */
#include "graph/graph.h"

#include "base/test.h"
#include "graph/layers.h"

static sh_type floats(size_t rows, size_t columns)
{
    return (sh_type){SH_F32, sh_shape_of(2, (size_t[]){rows, columns})};
}

static sh_graph *new_graph(void)
{
    sh_graph *graph = NULL;
    assert_ok(sh_graph_new(&graph));
    return graph;
}

static sh_value_id apply(sh_graph *graph, sh_op op, sh_value_id a, sh_value_id b)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    return sh_graph_add(graph, op, NULL, (sh_value_id[]){a, b, SH_NO_VALUE, SH_NO_VALUE}, out);
}

static sh_value_id weights(sh_graph *graph, const char *name)
{
    return sh_graph_parameter(graph, name, floats(2, 3), SH_ROLE_TRAINED, (sh_initial){0});
}

static size_t nodes_of(const sh_graph *graph, sh_op op)
{
    size_t found = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        found += graph->nodes[i].op == op;
    return found;
}

/* ---- building -------------------------------------------------------------------------------- */

static void what_is_built_is_listed_in_order(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    char name[] = "fc";
    const sh_value_id x = sh_graph_input(graph, floats(5, 3));
    const sh_value_id h = sh_layer_linear(&(sh_net){.graph = graph}, x, name, 4);
    const sh_value_id y = sh_layer_relu(&(sh_net){.graph = graph}, h);
    sh_graph_output(graph, y);
    sh_graph_output(graph, h);
    name[0] = 'X'; /* names are copied */
    assert_ok(sh_graph_status(graph));
    assert_ok(sh_graph_verify(graph));

    assert_int_equal(graph->input_count, 1);
    assert_int_equal(graph->inputs[0], x);
    assert_int_equal(graph->parameter_count, 2);
    assert_string_equal(graph->parameters[0].name, "fc.weight");
    assert_string_equal(graph->parameters[1].name, "fc.bias");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(graph->parameters[i].gradient, SH_NO_VALUE);
        assert_int_equal(graph->parameters[i].initial.kind, SH_INITIAL_UNIFORM);
        assert_float_equal(graph->parameters[i].initial.size, 0x1.279a74p-1, 1e-7);
    }
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(graph->nodes[0].op, SH_OP_linear);
    assert_int_equal(graph->nodes[0].in[0], x);
    assert_int_equal(graph->nodes[0].in[1], graph->parameters[0].value);
    assert_int_equal(graph->nodes[0].out[0], h);
    assert_int_equal(graph->nodes[1].op, SH_OP_relu);
    assert_int_equal(graph->output_count, 2);
    assert_int_equal(graph->outputs[0], y);
    assert_int_equal(graph->outputs[1], h);
    assert_true(sh_type_equal(sh_graph_type(graph, y), &(sh_type){SH_F32, floats(5, 4).shape}));
    assert_false(graph->values[x].wants_gradient);
    assert_true(graph->values[y].wants_gradient);
    sh_graph_free(graph);
}

static void many_values_are_kept(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    sh_value_id x = sh_graph_input(graph, floats(2, 3));
    for (size_t i = 0; i < 1000; i++) {
        const sh_value_id y = sh_layer_relu(&(sh_net){.graph = graph}, x);
        assert_int_equal(graph->nodes[i].in[0], x);
        assert_int_equal(graph->nodes[i].out[0], y);
        x = y;
    }
    assert_int_equal(graph->node_count, 1000);
    assert_int_equal(graph->value_count, 1001);
    assert_ok(sh_graph_verify(graph));
    sh_graph_free(graph);
}

/* Each function makes one mistake in a graph that has x [2, 3] (value 0). */
static sh_value_id wrong_shapes(sh_graph *graph)
{
    return apply(graph, SH_OP_add, 0, sh_graph_input(graph, floats(3, 2)));
}

static sh_value_id missing_operand(sh_graph *graph)
{
    return apply(graph, SH_OP_add, 0, SH_NO_VALUE);
}

static sh_value_id unmade_operand(sh_graph *graph)
{
    return apply(graph, SH_OP_relu, 7, SH_NO_VALUE);
}

static sh_value_id empty_input(sh_graph *graph)
{
    return sh_graph_input(graph, floats(2, 0));
}

static sh_value_id vast_parameter(sh_graph *graph)
{
    return sh_graph_parameter(graph, "w", floats(SIZE_MAX / 2, 4), SH_ROLE_TRAINED,
                              (sh_initial){0});
}

static sh_value_id own_failure(sh_graph *graph)
{
    return sh_graph_failed(graph, sh_fail(SH_UNSUPPORTED, "what a builder finds itself"));
}

static const struct {
    sh_value_id (*build)(sh_graph *graph);
    sh_status code;
    const char *part;
} mistakes[] = {
    {wrong_shapes, SH_INVALID, "add: a is F32 2x3, but b is F32 3x2"},
    {missing_operand, SH_INVALID, "add: an input is missing"},
    {unmade_operand, SH_INVALID, "relu: an input is missing"},
    {empty_input, SH_LIMIT, "shape 2x0: dimension 1 is empty"},
    {vast_parameter, SH_LIMIT, "larger than the address space"},
    {own_failure, SH_UNSUPPORTED, "what a builder finds itself"},
};

static void the_first_failure_stays_and_ends_the_building(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        sh_graph *graph = new_graph();
        const sh_value_id x = sh_graph_input(graph, floats(2, 3));
        assert_int_equal(mistakes[i].build(graph), SH_NO_VALUE);
        const size_t values = graph->value_count;
        sh_value_id out[SH_MAX_OUTPUTS] = {1, 2, 3};

        assert_int_equal(sh_graph_input(graph, floats(2, 3)), SH_NO_VALUE);
        assert_int_equal(weights(graph, "w"), SH_NO_VALUE);
        assert_int_equal(sh_graph_add(graph, SH_OP_max_pool, NULL, &x, out), SH_NO_VALUE);
        for (uint32_t j = 0; j < sh_op_about(SH_OP_max_pool)->output_count; j++)
            assert_int_equal(out[j], SH_NO_VALUE);
        assert_int_equal(sh_layer_relu(&(sh_net){.graph = graph},
                                       sh_layer_linear(&(sh_net){.graph = graph}, x, "fc", 2)),
                         SH_NO_VALUE);
        sh_graph_output(graph, SH_NO_VALUE);
        sh_graph_differentiate(graph, SH_NO_VALUE, SH_NO_VALUE);
        assert_int_equal(sh_graph_gradient_of(graph, x, x, x), SH_NO_VALUE);
        assert_int_equal(sh_graph_failed(graph, sh_fail(SH_IO, "a later one")), SH_NO_VALUE);

        assert_int_equal(graph->value_count, values);
        assert_int_equal(graph->node_count + graph->parameter_count + graph->output_count, 0);
        assert_fails(sh_graph_status(graph), mistakes[i].code, mistakes[i].part);
        assert_fails(sh_graph_verify(graph), mistakes[i].code, mistakes[i].part);
        sh_graph_free(graph);
    }
    sh_graph_free(NULL);
}

/* ---- differentiating ------------------------------------------------------------------------- */

/* y = w + relu(w). */
static void a_value_used_twice_adds_its_gradients(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id seed = sh_graph_input(graph, floats(2, 3));
    const sh_value_id w = weights(graph, "w");
    const sh_value_id y = apply(graph, SH_OP_add, w, sh_layer_relu(&(sh_net){.graph = graph}, w));
    sh_graph_differentiate(graph, y, seed);
    assert_ok(sh_graph_verify(graph));

    assert_int_equal(graph->node_count, 4); /* relu, add; relu_grad, add */
    const sh_node *through = &graph->nodes[2], *sum = &graph->nodes[3];
    assert_int_equal(through->op, SH_OP_relu_grad);
    assert_int_equal(through->in[0], seed);
    assert_int_equal(sum->op, SH_OP_add);
    assert_int_equal(sum->in[0], seed);
    assert_int_equal(sum->in[1], through->out[0]);
    assert_int_equal(graph->parameters[0].gradient, sum->out[0]);
    sh_graph_free(graph);
}

/* n uses need n - 1 additions. */
static void many_uses_add_up(void **state)
{
    (void)state;
    for (size_t uses = 2; uses < 6; uses++) {
        sh_graph *graph = new_graph();
        const sh_value_id seed = sh_graph_input(graph, floats(2, 3));
        const sh_value_id w = weights(graph, "w");
        sh_value_id y = w;
        for (size_t i = 1; i < uses; i++)
            y = apply(graph, SH_OP_add, y, w);
        sh_graph_differentiate(graph, y, seed);
        assert_ok(sh_graph_verify(graph));
        assert_int_equal(nodes_of(graph, SH_OP_add), 2 * (uses - 1));
        sh_graph_free(graph);
    }
}

/* Nodes for gradients of parameters come first. */
static void only_what_is_wanted_is_emitted(void **state)
{
    (void)state;
    static const sh_op expected[] = {
        SH_OP_linear,
        SH_OP_relu,
        SH_OP_linear,
        SH_OP_linear_grad_weight,
        SH_OP_linear_grad_input,
        SH_OP_relu_grad,
        SH_OP_linear_grad_weight,
    };
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, floats(5, 3));
    const sh_value_id seed = sh_graph_input(graph, floats(5, 2));
    const sh_value_id h = sh_layer_relu(&(sh_net){.graph = graph},
                                        sh_layer_linear(&(sh_net){.graph = graph}, x, "fc1", 4));
    sh_graph_differentiate(graph, sh_layer_linear(&(sh_net){.graph = graph}, h, "fc2", 2), seed);
    assert_ok(sh_graph_verify(graph));
    assert_int_equal(graph->node_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < graph->node_count; i++)
        assert_int_equal(graph->nodes[i].op, expected[i]);
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        assert_true(sh_type_equal(sh_graph_type(graph, parameter->value),
                                  sh_graph_type(graph, parameter->gradient)));
    }
    sh_graph_free(graph);
}

static void a_parameter_without_a_part_in_the_loss_is_refused(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id seed = sh_graph_input(graph, floats(2, 3));
    const sh_value_id used = weights(graph, "used"), idle = weights(graph, "idle");
    sh_layer_relu(&(sh_net){.graph = graph}, idle); /* computed but not used */
    sh_graph_differentiate(graph, sh_layer_relu(&(sh_net){.graph = graph}, used), seed);
    assert_fails(sh_graph_status(graph), SH_INVALID, "the loss does not depend on parameter idle");
    sh_graph_free(graph);
}

/* argmax has no gradient. */
static void what_has_no_gradient_ends_the_way_back(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id w = weights(graph, "w");
    const sh_value_id choice = apply(graph, SH_OP_argmax, w, SH_NO_VALUE);
    assert_false(graph->values[choice].wants_gradient);
    const sh_value_id seed = sh_graph_input(graph, *sh_graph_type(graph, choice));
    assert_int_equal(sh_graph_gradient_of(graph, choice, seed, w), SH_NO_VALUE);
    assert_int_equal(graph->node_count, 1);
    sh_graph_differentiate(graph, choice, seed);
    assert_fails(sh_graph_status(graph), SH_INVALID, "does not depend on parameter w");
    sh_graph_free(graph);
}

static void the_gradient_of_an_input_is_there_when_asked_for(void **state)
{
    (void)state;
    sh_graph *graph = new_graph();
    const sh_value_id x = sh_graph_input(graph, floats(2, 3));
    const sh_value_id apart = sh_graph_input(graph, floats(2, 3));
    const sh_value_id seed = sh_graph_input(graph, floats(2, 3));
    const sh_value_id y = sh_layer_relu(&(sh_net){.graph = graph}, x);
    assert_int_equal(sh_graph_gradient_of(graph, y, seed, apart), SH_NO_VALUE);
    assert_int_equal(sh_graph_gradient_of(graph, y, seed, y), seed);
    const sh_value_id dx = sh_graph_gradient_of(graph, y, seed, x);
    assert_int_equal(dx, graph->nodes[graph->node_count - 1].out[0]);
    assert_int_equal(nodes_of(graph, SH_OP_relu_grad), 1);
    assert_ok(sh_graph_verify(graph));
    sh_graph_free(graph);
}

static void a_seed_of_another_type_is_refused(void **state)
{
    (void)state;
    for (int all = 0; all < 2; all++) {
        sh_graph *graph = new_graph();
        const sh_value_id y = sh_layer_relu(&(sh_net){.graph = graph}, weights(graph, "w"));
        const sh_value_id seed = sh_graph_input(graph, floats(3, 2));
        if (all == 1)
            sh_graph_differentiate(graph, y, seed);
        else
            assert_int_equal(sh_graph_gradient_of(graph, y, seed, y), SH_NO_VALUE);
        assert_fails(sh_graph_status(graph), SH_INVALID,
                     "differentiate: the value is F32 2x3, but its seed is F32 3x2");
        sh_graph_free(graph);
    }
}

/* ---- verifying ------------------------------------------------------------------------------- */

/* Each function corrupts one part of x -> linear(fc) -> relu -> outputs. */
static void unknown_operator(sh_graph *graph)
{
    graph->nodes[1].op = SH_OP_COUNT;
}

static void operand_too_few(sh_graph *graph)
{
    graph->nodes[0].input_count -= 2;
}

static void use_before_it_is_made(sh_graph *graph)
{
    const sh_node first = graph->nodes[0];
    graph->nodes[0] = graph->nodes[1];
    graph->nodes[1] = first;
}

static void use_of_nothing(sh_graph *graph)
{
    graph->nodes[1].in[0] = (sh_value_id)graph->value_count;
}

static void made_twice(sh_graph *graph)
{
    graph->nodes[1].out[0] = graph->nodes[0].out[0];
}

static void made_although_given(sh_graph *graph)
{
    graph->nodes[1].out[0] = graph->inputs[0];
}

static void another_type(sh_graph *graph)
{
    graph->values[graph->nodes[1].out[0]].type.shape.dim[0]++;
}

static void types_that_do_not_go_together(sh_graph *graph)
{
    graph->values[graph->parameters[1].value].type.shape.dim[0]++;
}

static void output_that_nobody_makes(sh_graph *graph)
{
    graph->node_count = 1;
    for (size_t i = 0; i < graph->parameter_count; i++)
        graph->parameters[i].gradient = SH_NO_VALUE;
}

static void output_of_nothing(sh_graph *graph)
{
    graph->outputs[0] = (sh_value_id)graph->value_count;
}

static void gradient_that_nobody_makes(sh_graph *graph)
{
    graph->node_count = 2;
}

static void gradient_of_another(sh_graph *graph)
{
    graph->parameters[0].gradient = graph->parameters[1].gradient;
}

static void gradient_of_nothing(sh_graph *graph)
{
    graph->parameters[0].gradient = (sh_value_id)graph->value_count;
}

static void parameter_of_nothing(sh_graph *graph)
{
    graph->parameters[1].value = (sh_value_id)graph->value_count;
}

static void input_of_nothing(sh_graph *graph)
{
    graph->inputs[0] = SH_NO_VALUE;
}

static const struct {
    void (*spoil)(sh_graph *graph);
    sh_status code;
    const char *part;
} damages[] = {
    {unknown_operator, SH_INTERNAL, "node 1: operator "},
    {operand_too_few, SH_INTERNAL, "node 0 (linear): 1 inputs and 1 outputs, expected 3 and 1"},
    {use_before_it_is_made, SH_INTERNAL, "node 0 (relu): input 0 is used before it is made"},
    {use_of_nothing, SH_INTERNAL, "node 1 (relu): input 0 is used before it is made"},
    {made_twice, SH_INTERNAL, "node 1 (relu): output 0 is made twice"},
    {made_although_given, SH_INTERNAL, "node 1 (relu): output 0 is made twice"},
    {another_type, SH_INTERNAL, "node 1 (relu): output 0 has another type than inferred"},
    {types_that_do_not_go_together, SH_INVALID, "node 0: linear: bias of 5 for 4 outputs"},
    {output_that_nobody_makes, SH_INTERNAL, "output 0 is never made"},
    {output_of_nothing, SH_INTERNAL, "output 0 is never made"},
    {gradient_that_nobody_makes, SH_INTERNAL, "the gradient of fc.weight is not of its type"},
    {gradient_of_another, SH_INTERNAL, "the gradient of fc.weight is not of its type"},
    {gradient_of_nothing, SH_INTERNAL, "the gradient of fc.weight is not of its type"},
    {parameter_of_nothing, SH_INTERNAL, "parameter fc.bias is not a value"},
    {input_of_nothing, SH_INTERNAL, "input 0 is not a value"},
};

static void verify_finds_what_is_spoiled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        sh_graph *graph = new_graph();
        const sh_value_id x = sh_graph_input(graph, floats(5, 3));
        const sh_value_id seed = sh_graph_input(graph, floats(5, 4));
        const sh_value_id y = sh_layer_relu(&(sh_net){.graph = graph},
                                            sh_layer_linear(&(sh_net){.graph = graph}, x, "fc", 4));
        sh_graph_output(graph, y);
        sh_graph_differentiate(graph, y, seed);
        assert_ok(sh_graph_verify(graph));
        damages[i].spoil(graph);
        assert_fails(sh_graph_verify(graph), damages[i].code, damages[i].part);
        sh_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_built_is_listed_in_order),
        cmocka_unit_test(many_values_are_kept),
        cmocka_unit_test(the_first_failure_stays_and_ends_the_building),
        cmocka_unit_test(a_value_used_twice_adds_its_gradients),
        cmocka_unit_test(many_uses_add_up),
        cmocka_unit_test(only_what_is_wanted_is_emitted),
        cmocka_unit_test(a_parameter_without_a_part_in_the_loss_is_refused),
        cmocka_unit_test(what_has_no_gradient_ends_the_way_back),
        cmocka_unit_test(the_gradient_of_an_input_is_there_when_asked_for),
        cmocka_unit_test(a_seed_of_another_type_is_refused),
        cmocka_unit_test(verify_finds_what_is_spoiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
