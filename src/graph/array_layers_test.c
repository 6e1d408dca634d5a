/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/array_layers.h"

#include <math.h>
#include <stdlib.h>

#include "backend/program.h"
#include "base/test.h"

#define MOST 512 /* elements */
#define SHAPE(...)                                                                                 \
    sh_shape_of(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), (size_t[]){__VA_ARGS__})

static sh_net begin(void)
{
    sh_net net = {0};
    assert_ok(sh_graph_new(&net.graph));
    return net;
}

static sh_value_id array(sh_net *net, sh_shape shape)
{
    return sh_graph_input(net->graph, (sh_type){SH_F32, shape});
}

static float element(size_t which, size_t i)
{
    return (float)((i * 7 + which * 3) % 11) - 4;
}

/* Runs the graph and frees it. Returns the shape of y. */
static sh_shape run(sh_net *net, sh_value_id y, float values[MOST])
{
    sh_program *program;
    sh_execution *execution;
    const sh_kernels *kernels;
    void *lane, *shared;
    assert_ok(sh_graph_status(net->graph));
    sh_graph_output(net->graph, y);
    assert_ok(sh_graph_verify(net->graph));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_program_compile(&program, net->graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, NULL));
    for (size_t i = 0; i < net->graph->input_count; i++) {
        const sh_shape *shape = &sh_graph_type(net->graph, net->graph->inputs[i])->shape;
        for (size_t j = 0; j < sh_shape_count(shape); j++)
            ((float *)sh_execution_input(execution, i))[j] = element(i, j);
    }
    assert_ok(sh_execution_run(execution, NULL, NULL));
    const sh_shape shape = sh_graph_type(net->graph, y)->shape;
    assert_in_range(sh_shape_count(&shape), 1, MOST);
    memcpy(values, sh_execution_output(execution, 0), sh_shape_count(&shape) * sizeof *values);
    sh_execution_free(execution);
    sh_program_free(program);
    sh_graph_free(net->graph);
    free(lane);
    free(shared);
    return shape;
}

static void assert_shape(const sh_shape *is, sh_shape wanted)
{
    char a[SH_SHAPE_TEXT], b[SH_SHAPE_TEXT];
    if (!sh_shape_equal(is, &wanted))
        fail_msg("the shape is %s, not %s", sh_shape_print(is, a), sh_shape_print(&wanted, b));
}

static void equal_shapes_take_the_fast_operator(void **state)
{
    (void)state;
    static const struct {
        sh_pair_function function;
        sh_op op;
    } cases[] = {{SH_PAIR_ADD, SH_OP_add},
                 {SH_PAIR_SUBTRACT, SH_OP_subtract},
                 {SH_PAIR_MULTIPLY, SH_OP_multiply},
                 {SH_PAIR_DIVIDE, SH_OP_broadcast}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_net net = begin();
        const sh_value_id a = array(&net, SHAPE(2, 3)), b = array(&net, SHAPE(2, 3));
        sh_layer_pair(&net, cases[i].function, a, b);
        assert_int_equal(net.graph->nodes[0].op, cases[i].op);
        sh_layer_pair(&net, cases[i].function, a, array(&net, SHAPE(3)));
        assert_int_equal(net.graph->nodes[1].op, SH_OP_broadcast);
        sh_graph_free(net.graph);
    }
}

static void where_chooses(void **state)
{
    (void)state;
    float y[MOST];
    sh_net net = begin();
    const sh_value_id condition = array(&net, SHAPE(3, 1)), a = array(&net, SHAPE(4)),
                      b = array(&net, SHAPE(2, 1, 1));
    const sh_shape shape = run(&net, sh_layer_where(&net, condition, a, b), y);
    assert_shape(&shape, SHAPE(2, 3, 4));
    for (size_t i = 0; i < 24; i++)
        assert_float_equal(y[i],
                           element(0, i / 4 % 3) != 0 ? element(1, i % 4) : element(2, i / 12), 0);
}

static void reduce_takes_any_set_of_dimensions(void **state)
{
    (void)state;
    const size_t dim[] = {2, 3, 4, 5};
    for (uint32_t axes = 1; axes < 16; axes++)
        for (int function = 0; function < SH_REDUCE_COUNT; function++) {
            float y[MOST], expected[MOST] = {0};
            sh_net net = begin();
            const sh_value_id x = array(&net, sh_shape_of(4, dim));
            const bool keep = axes % 2 != 0;
            const sh_shape shape =
                run(&net, sh_layer_reduce(&net, (sh_reduction)function, x, axes, keep), y);
            size_t outputs = 1, rank = 0;
            for (size_t d = 0; d < 4; d++) {
                const bool gone = (axes >> d & 1) != 0;
                outputs *= gone ? 1 : dim[d];
                rank += keep || !gone;
            }
            assert_int_equal(shape.rank, rank);
            assert_int_equal(sh_shape_count(&shape), outputs);
            for (size_t o = 0; o < outputs && function == SH_REDUCE_LARGEST; o++)
                expected[o] = -100;
            for (size_t i = 0; i < 120; i++) {
                size_t o = 0;
                for (size_t d = 0, behind = 120, rest = i; d < 4; d++) {
                    behind /= dim[d];
                    o = (axes >> d & 1) != 0 ? o : o * dim[d] + rest / behind;
                    rest %= behind;
                }
                const float now = element(0, i);
                if (function != SH_REDUCE_LARGEST)
                    expected[o] += now;
                else if (now > expected[o])
                    expected[o] = now;
            }
            for (size_t o = 0; o < outputs; o++) {
                if (function == SH_REDUCE_MEAN)
                    expected[o] /= (float)(120 / outputs);
                assert_float_equal(y[o], expected[o], 0);
            }
        }
}

static void mean_of_a_range_is_the_operator_mean(void **state)
{
    (void)state;
    sh_net net = begin();
    const sh_value_id x = array(&net, SHAPE(2, 3, 4, 5));
    sh_layer_reduce(&net, SH_REDUCE_MEAN, x, SH_AXIS(2) | SH_AXIS(3), true);
    sh_layer_reduce(&net, SH_REDUCE_MEAN, x, SH_AXIS(1) | SH_AXIS(3), true);
    assert_int_equal(net.graph->nodes[0].op, SH_OP_mean);
    assert_int_equal(net.graph->nodes[1].op, SH_OP_reshape);
    assert_int_equal(net.graph->nodes[2].op, SH_OP_reduce);
    assert_int_equal(sh_layer_reduce(&net, SH_REDUCE_SUM, x, 0, false), x);
    sh_layer_reduce(&net, SH_REDUCE_SUM, x, SH_AXIS(4), false);
    assert_fails(sh_graph_status(net.graph), SH_INVALID, "reduce: x has no dimension after 3");
    sh_graph_free(net.graph);
}

/* Each row has each of 11 values twice, because element() is periodic. */
static void first_of_the_largest_gets_the_gradient(void **state)
{
    (void)state;
    float dx[MOST];
    sh_net net = begin();
    const sh_value_id x = array(&net, SHAPE(2, 22)), seed = array(&net, SHAPE(2));
    const sh_value_id y = sh_layer_reduce(&net, SH_REDUCE_LARGEST, x, SH_AXIS(1), false);
    const sh_shape shape = run(&net, sh_graph_gradient_of(net.graph, y, seed, x), dx);
    assert_shape(&shape, SHAPE(2, 22));
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0, found = 0; i < 22; i++) {
            const bool first = element(0, row * 22 + i) == 6 && found++ == 0;
            assert_float_equal(dx[row * 22 + i], first ? element(1, row) : 0, 0);
        }
}

static void expand_repeats(void **state)
{
    (void)state;
    float y[MOST];
    sh_net net = begin();
    const sh_value_id x = array(&net, SHAPE(2, 1, 3));
    assert_int_equal(sh_layer_expand(&net, x, SHAPE(1, 3)), x);
    const sh_shape shape = run(&net, sh_layer_expand(&net, x, SHAPE(5, 1, 4, 1)), y);
    assert_shape(&shape, SHAPE(5, 2, 4, 3));
    for (size_t i = 0; i < 120; i++)
        assert_float_equal(y[i], element(0, i / 12 % 2 * 3 + i % 3), 0);
}

/* Gradients of repeated indices add up. */
static void gather_takes_places(void **state)
{
    (void)state;
    float y[MOST], dx[MOST], expected[30] = {0};
    for (int gradient = 0; gradient < 2; gradient++) {
        sh_net net = begin();
        const sh_value_id x = array(&net, SHAPE(2, 5, 3)), indices = array(&net, SHAPE(2, 11));
        const sh_value_id seed = array(&net, SHAPE(2, 2, 11, 3));
        sh_value_id z = sh_layer_gather(&net, x, indices, 1);
        if (gradient)
            z = sh_graph_gradient_of(net.graph, z, seed, x);
        const sh_shape shape = run(&net, z, gradient ? dx : y);
        assert_shape(&shape, gradient ? SHAPE(2, 5, 3) : SHAPE(2, 2, 11, 3));
    }
    for (size_t i = 0; i < 132; i++) {
        const int index = (int)element(1, i / 3 % 22);
        const size_t place = i / 66 * 15 + (size_t)(index < 0 ? index + 5 : index) * 3 + i % 3;
        if (index > 4) {
            assert_true(isnan(y[i]));
            continue;
        }
        assert_float_equal(y[i], element(0, place), 0);
        expected[place] += element(2, i);
    }
    assert_memory_equal(dx, expected, sizeof expected);
}

static void concat_takes_any_number(void **state)
{
    (void)state;
    float y[MOST];
    sh_value_id all[20];
    sh_net net = begin();
    for (size_t i = 0; i < 20; i++)
        all[i] = array(&net, SHAPE(2, 3));
    const sh_shape shape = run(&net, sh_layer_concat(&net, all, 20, 1), y);
    assert_shape(&shape, SHAPE(2, 60));
    for (size_t i = 0; i < 120; i++)
        assert_float_equal(y[i], element(i % 60 / 3, i / 60 * 3 + i % 3), 0);
}

static void tile_repeats_whole_dimensions(void **state)
{
    (void)state;
    float y[MOST];
    sh_net net = begin();
    const sh_value_id x = array(&net, SHAPE(2, 3, 4));
    const sh_shape shape = run(&net, sh_layer_tile(&net, x, (size_t[]){2, 1, 3}), y);
    assert_shape(&shape, SHAPE(4, 3, 12));
    for (size_t i = 0; i < 144; i++)
        assert_float_equal(y[i], element(0, i / 36 % 2 * 12 + i / 12 % 3 * 4 + i % 12 % 4), 0);
    net = begin();
    sh_layer_tile(&net, array(&net, SHAPE(2, 3)), (size_t[]){1, SIZE_MAX / 2});
    assert_int_equal(sh_graph_status(net.graph), SH_LIMIT);
    sh_graph_free(net.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_shapes_take_the_fast_operator),
        cmocka_unit_test(where_chooses),
        cmocka_unit_test(reduce_takes_any_set_of_dimensions),
        cmocka_unit_test(mean_of_a_range_is_the_operator_mean),
        cmocka_unit_test(first_of_the_largest_gets_the_gradient),
        cmocka_unit_test(expand_repeats),
        cmocka_unit_test(gather_takes_places),
        cmocka_unit_test(concat_takes_any_number),
        cmocka_unit_test(tile_repeats_whole_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
