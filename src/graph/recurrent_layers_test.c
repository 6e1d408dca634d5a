/* SPDX-License-Identifier: Apache-2.0 */
/* backend/layer_values_test.c tests the values. */
#include "graph/recurrent_layers.h"

#include "base/test.h"

#define SHAPE(...)                                                                                 \
    sh_shape_of(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), (size_t[]){__VA_ARGS__})

static sh_value_id given(sh_graph *graph, sh_shape shape)
{
    return sh_graph_input(graph, (sh_type){SH_F32, shape});
}

static void assert_shape(const sh_graph *graph, sh_value_id x, sh_shape expected)
{
    assert_ok(sh_graph_status(graph));
    assert_int_not_equal(x, SH_NO_VALUE);
    assert_true(sh_shape_equal(&sh_graph_type(graph, x)->shape, &expected));
}

static void any_number_of_steps(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 2, 7, 50, SH_RECURRENT_STEPS};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        sh_net net = {0};
        sh_value_id out[3];
        assert_ok(sh_graph_new(&net.graph));
        const sh_value_id x = given(net.graph, SHAPE(steps[i], 3, 5));
        const sh_recurrent of = {
            .cell = SH_CELL_LSTM,
            .w = given(net.graph, SHAPE(2, 16, 5)),
            .r = given(net.graph, SHAPE(2, 16, 4)),
            .b = SH_NO_VALUE,
            .h = SH_NO_VALUE,
            .c = SH_NO_VALUE,
            .p = SH_NO_VALUE,
            .wants = {true, false, true},
        };
        sh_net_recur(&net, x, &of, out);
        assert_shape(net.graph, out[0], SHAPE(steps[i], 2, 3, 4));
        assert_int_equal(out[1], SH_NO_VALUE);
        assert_shape(net.graph, out[2], SHAPE(2, 3, 4));
        const sh_value_id seed = given(net.graph, SHAPE(steps[i], 2, 3, 4));
        assert_int_not_equal(sh_graph_gradient_of(net.graph, out[0], seed, x), SH_NO_VALUE);
        assert_ok(sh_graph_verify(net.graph));
        sh_graph_free(net.graph);
    }
}

static const struct {
    size_t x[3], w[3], r[3], b[2], h[3];
    bool reverse;
    sh_status status;
    const char *message;
} misfits[] = {
    {{257, 1, 5},
     {1, 9, 5},
     {1, 9, 3},
     {1, 18},
     {1, 1, 3},
     false,
     SH_LIMIT,
     "gru: 257 steps, at most 256 are possible"},
    {{4, 2, 5},
     {3, 9, 5},
     {3, 9, 3},
     {3, 18},
     {3, 2, 3},
     false,
     SH_INVALID,
     "gru: weights of 3 directions, expected one or two"},
    {{4, 2, 5},
     {2, 9, 5},
     {2, 9, 3},
     {2, 18},
     {2, 2, 3},
     true,
     SH_INVALID,
     "gru: weights of 2 directions, the only one is backwards"},
    {{4, 2, 5},
     {1, 9, 6},
     {1, 9, 3},
     {1, 18},
     {1, 2, 3},
     false,
     SH_INVALID,
     "gru: the weight is F32 1x9x6"},
    {{4, 2, 5},
     {1, 9, 5},
     {1, 8, 3},
     {1, 18},
     {1, 2, 3},
     false,
     SH_INVALID,
     "gru: the recurrent weight is F32 1x8x3"},
    {{4, 2, 5},
     {1, 9, 5},
     {1, 9, 3},
     {1, 9},
     {1, 2, 3},
     false,
     SH_INVALID,
     "gru: the bias is F32 1x9"},
    {{4, 2, 5},
     {1, 9, 5},
     {1, 9, 3},
     {1, 18},
     {1, 3, 3},
     false,
     SH_INVALID,
     "gru: the state is F32 1x3x3"},
};

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
        sh_net net = {0};
        sh_value_id out[3];
        assert_ok(sh_graph_new(&net.graph));
        const sh_recurrent of = {
            .cell = SH_CELL_GRU,
            .w = given(net.graph, sh_shape_of(3, misfits[i].w)),
            .r = given(net.graph, sh_shape_of(3, misfits[i].r)),
            .b = given(net.graph, sh_shape_of(2, misfits[i].b)),
            .h = given(net.graph, sh_shape_of(3, misfits[i].h)),
            .c = SH_NO_VALUE,
            .p = SH_NO_VALUE,
            .reverse = misfits[i].reverse,
            .wants = {true, true, true},
        };
        sh_net_recur(&net, given(net.graph, sh_shape_of(3, misfits[i].x)), &of, out);
        assert_int_equal(out[0], SH_NO_VALUE);
        assert_fails(sh_graph_status(net.graph), misfits[i].status, misfits[i].message);
        sh_net_recur(&net, SH_NO_VALUE, &of, out); /* after a failure */
        assert_int_equal(out[1], SH_NO_VALUE);
        sh_graph_free(net.graph);
    }
    sh_net net = {0};
    sh_value_id out[3];
    assert_ok(sh_graph_new(&net.graph));
    sh_net_recur(&net, given(net.graph, SHAPE(4, 2, 5)),
                 &(sh_recurrent){.w = SH_NO_VALUE, .r = SH_NO_VALUE, .p = SH_NO_VALUE}, out);
    assert_fails(sh_graph_status(net.graph), SH_INVALID, "lstm: the weight is missing");
    sh_graph_free(net.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_steps),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
