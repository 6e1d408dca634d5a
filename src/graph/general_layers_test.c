/* SPDX-License-Identifier: Apache-2.0 */
/* backend/ops_test.c and backend/values_test.c test the values. */
#include "graph/general_layers.h"

#include <math.h>

#include "base/test.h"

#define SHAPE(...)                                                                                 \
    sh_shape_of(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), (size_t[]){__VA_ARGS__})
#define NAMED(name, shape, role)                                                                   \
    sh_graph_parameter(net.graph, name, (sh_type){SH_F32, shape}, role, (sh_initial){0})

static sh_net begin(bool training, sh_shape shape, sh_value_id *x)
{
    sh_net net = {.training = training};
    assert_ok(sh_graph_new(&net.graph));
    *x = sh_graph_input(net.graph, (sh_type){SH_F32, shape});
    net.loss_weights = sh_graph_input(net.graph, (sh_type){SH_F32, sh_shape_of(1, &shape.dim[0])});
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

static void sides_may_differ(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(false, SHAPE(2, 6, 8, 9), &x);
    const sh_attributes same = {.stride = {2, 2}, .end_padding = {1, 0}, .groups = 3};
    const sh_value_id w = NAMED("w", SHAPE(9, 2, 3, 3), SH_ROLE_TRAINED);
    assert_shape(&net, sh_net_convolve(&net, x, w, SH_NO_VALUE, &same), SHAPE(2, 9, 4, 4));
    const sh_attributes window = {.kernel = {3, 2}, .stride = {2, 2}, .end_padding = {0, 1}};
    for (int op = 0; op < 2; op++) {
        const sh_op pool = op == 0 ? SH_OP_max_pool : SH_OP_avg_pool;
        assert_shape(&net, sh_net_pool(&net, pool, x, &window, false), SHAPE(2, 6, 3, 5));
        assert_shape(&net, sh_net_pool(&net, pool, x, &window, true), SHAPE(2, 6, 4, 5));
    }
    assert_shape(&net, sh_net_global_max_pool(&net, x), SHAPE(2, 6, 1, 1));
    const sh_value_id b = NAMED("b", SHAPE(9), SH_ROLE_TRAINED);
    const sh_value_id m = NAMED("m", SHAPE(8, 9), SH_ROLE_TRAINED);
    assert_shape(&net, sh_net_layer_norm(&net, x, b, b, 3, 0), SHAPE(2, 6, 8, 9));
    assert_shape(&net, sh_net_layer_norm(&net, x, m, m, 2, 0.5f), SHAPE(2, 6, 8, 9));
    const sh_node *node = &net.graph->nodes[net.graph->node_count - 2];
    assert_int_equal(node->op, SH_OP_layer_norm);
    assert_true(node->attributes.number == 0.5f);
    sh_graph_free(net.graph);
}

static void lines_use_the_second_setting(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(false, SHAPE(2, 6, 9), &x);
    const sh_attributes a = {
        .kernel = {7, 3}, .stride = {7, 2}, .padding = {7, 0}, .end_padding = {7, 1}};
    const sh_value_id w = NAMED("w", SHAPE(4, 6, 3), SH_ROLE_TRAINED);
    assert_shape(&net, sh_net_convolve(&net, x, w, SH_NO_VALUE, &a), SHAPE(2, 4, 4));
    assert_shape(&net, sh_net_pool(&net, SH_OP_max_pool, x, &a, false), SHAPE(2, 6, 4));
    assert_shape(&net, sh_net_pool(&net, SH_OP_avg_pool, x, &a, true), SHAPE(2, 6, 5));
    assert_shape(&net, sh_net_global_max_pool(&net, x), SHAPE(2, 6, 1));
    sh_graph_free(net.graph);
}

static void transposed_convolutions_increase(void **state)
{
    (void)state;
    static const struct {
        sh_attributes a;
        size_t output_padding[2], kernel[2], made[2];
    } cases[] = {
        {{.stride = {2, 2}}, {0, 0}, {2, 2}, {10, 14}},
        {{.stride = {2, 2}, .padding = {1, 1}, .end_padding = {1, 1}}, {1, 1}, {3, 3}, {10, 14}},
        {{.stride = {2, 3}, .end_padding = {2, 0}}, {3, 2}, {3, 1}, {12, 21}},
        {{.dilation = {2, 1}, .padding = {0, 2}}, {0, 0}, {3, 5}, {9, 9}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t *kernel = cases[i].kernel, *made = cases[i].made;
        sh_value_id x;
        sh_net net = begin(false, SHAPE(2, 6, 5, 7), &x);
        sh_attributes a = cases[i].a;
        a.groups = 3;
        const sh_value_id w = NAMED("w", SHAPE(6, 4, kernel[0], kernel[1]), SH_ROLE_TRAINED);
        const sh_value_id b = NAMED("b", SHAPE(12), SH_ROLE_TRAINED);
        const size_t *further = cases[i].output_padding;
        assert_shape(&net, sh_net_convolve_transposed(&net, x, w, b, &a, further),
                     SHAPE(2, 12, made[0], made[1]));
        const sh_value_id line = sh_layer_reshape(&net, x, SHAPE(10, 6, 7));
        const sh_value_id v = NAMED("v", SHAPE(6, 4, kernel[1]), SH_ROLE_TRAINED);
        assert_shape(&net, sh_net_convolve_transposed(&net, line, v, SH_NO_VALUE, &a, further),
                     SHAPE(10, 12, made[1]));
        sh_graph_free(net.graph);
    }
    sh_value_id x;
    sh_net net = begin(false, SHAPE(2, 6, 5, 7), &x);
    const sh_value_id w = NAMED("w", SHAPE(6, 4, 2, 2), SH_ROLE_TRAINED);
    const sh_attributes a = {.stride = {2, 2}};
    sh_net_convolve_transposed(&net, x, w, SH_NO_VALUE, &a, (size_t[]){0, 2});
    assert_fails(sh_graph_status(net.graph), SH_INVALID, "output padding 2: ");
    sh_graph_free(net.graph);
    net = begin(false, SHAPE(2, 6, 1, 1), &x);
    const sh_value_id v = NAMED("v", SHAPE(6, 4, 1, 1), SH_ROLE_TRAINED);
    const sh_attributes cut = {.padding = {1, 1}};
    sh_net_convolve_transposed(&net, x, v, SH_NO_VALUE, &cut, (size_t[]){0, 0});
    assert_true(sh_graph_status(net.graph) != SH_OK);
    sh_graph_free(net.graph);
}

static void images_are_resized(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(false, SHAPE(2, 6, 5, 7), &x);
    const sh_resize scaled = {.scale = {2, 1.5f}, .method = SH_RESIZE_LINEAR};
    assert_shape(&net, sh_net_resize(&net, x, &scaled), SHAPE(2, 6, 10, 10));
    const sh_resize sized = {.size = {3, 14}, .method = SH_RESIZE_CUBIC};
    assert_shape(&net, sh_net_resize(&net, x, &sized), SHAPE(2, 6, 3, 14));
    const sh_attributes *a = &net.graph->nodes[net.graph->node_count - 1].attributes;
    assert_true(a->scale[0] == 3 / 5.0f && a->scale[1] == 2);
    const sh_value_id line = sh_layer_reshape(&net, x, SHAPE(10, 6, 7));
    assert_shape(&net, sh_net_resize(&net, line, &scaled), SHAPE(10, 6, 10));
    sh_graph_free(net.graph);
    static const sh_resize bad[] = {{.size = {1}},          {.scale = {1, -1}},
                                    {.scale = {0.125f, 1}}, {.scale = {1, NAN}},
                                    {.scale = {1, 1e9f}},   {.size = {5, 6}, .scale = {1, NAN}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        net = begin(false, SHAPE(2, 6, 5, 7), &x);
        assert_int_equal(sh_net_resize(&net, x, &bad[i]), SH_NO_VALUE);
        assert_true(sh_graph_status(net.graph) != SH_OK);
        sh_graph_free(net.graph);
    }
}

static void blocks_are_moved(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(false, SHAPE(2, 18, 4, 6), &x);
    for (int crd = 0; crd < 2; crd++)
        assert_shape(&net, sh_net_depth_to_space(&net, x, 3, crd > 0), SHAPE(2, 2, 12, 18));
    assert_shape(&net, sh_net_space_to_depth(&net, x, 2), SHAPE(2, 72, 2, 3));
    assert_int_equal(sh_net_depth_to_space(&net, x, 4, false), SH_NO_VALUE);
    assert_fails(sh_graph_status(net.graph), SH_INVALID,
                 "depth_to_space: 18 channels do not divide into blocks of 4x4");
    sh_graph_free(net.graph);
    net = begin(false, SHAPE(2, 18, 4, 6), &x);
    assert_int_equal(sh_net_space_to_depth(&net, x, 4), SH_NO_VALUE);
    assert_fails(sh_graph_status(net.graph), SH_INVALID,
                 "images of 4x6 do not divide into blocks of 4x4");
    sh_graph_free(net.graph);
}

static void statistics_move_as_told(void **state)
{
    (void)state;
    static const struct {
        sh_role mean, variance;
        bool training, measures;
    } cases[] = {
        {SH_ROLE_STATISTIC, SH_ROLE_STATISTIC, true, true},
        {SH_ROLE_STATISTIC, SH_ROLE_STATISTIC, false, false},
        {SH_ROLE_FROZEN, SH_ROLE_STATISTIC, true, false},
        {SH_ROLE_STATISTIC, SH_ROLE_FROZEN, false, false},
        {SH_ROLE_FROZEN, SH_ROLE_FROZEN, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_value_id x;
        sh_net net = begin(cases[i].training, SHAPE(2, 6, 3, 3), &x);
        const sh_batch_norm of = {
            .weight = NAMED("w", SHAPE(6), SH_ROLE_TRAINED),
            .bias = NAMED("b", SHAPE(6), SH_ROLE_TRAINED),
            .mean = NAMED("m", SHAPE(6), cases[i].mean),
            .variance = NAMED("v", SHAPE(6), cases[i].variance),
            .epsilon = 1e-3f,
            .momentum = 0.01f,
        };
        assert_shape(&net, sh_net_batch_norm(&net, x, &of), SHAPE(2, 6, 3, 3));
        const sh_attributes *a = &net.graph->nodes[net.graph->node_count - 1].attributes;
        assert_true(a->number == 1e-3f);
        assert_int_equal(a->training, cases[i].measures);
        const bool both =
            cases[i].mean == SH_ROLE_STATISTIC && cases[i].variance == SH_ROLE_STATISTIC;
        for (size_t p = 2; p < 4; p++) {
            const sh_parameter *statistic = &net.graph->parameters[p];
            assert_int_equal(statistic->role, both ? SH_ROLE_STATISTIC : SH_ROLE_FROZEN);
            assert_int_equal(statistic->gradient != SH_NO_VALUE, cases[i].measures);
            assert_true(statistic->momentum == (both ? 0.01f : SH_MOMENTUM));
        }
        sh_graph_free(net.graph);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const float bad[] = {-0.1f, 1.5f, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_value_id x;
        sh_net net = begin(false, SHAPE(2, 6), &x);
        const sh_value_id six = NAMED("s", SHAPE(6), SH_ROLE_STATISTIC);
        sh_net_batch_norm(&net, x, &(sh_batch_norm){six, six, six, six, 0, bad[i]});
        assert_fails(sh_graph_status(net.graph), SH_INVALID,
                     "of a moving average is not in [0, 1]");
        sh_graph_free(net.graph);
    }
    sh_value_id x;
    sh_net net = begin(false, SHAPE(2, 6), &x);
    assert_int_equal(sh_net_layer_norm(&net, x, x, x, 2, 0), SH_NO_VALUE);
    assert_fails(sh_graph_status(net.graph), SH_INVALID, "layer_norm: no dimension 2 of 2");
    sh_graph_free(net.graph);
}

static void a_failure_goes_through_all_layers(void **state)
{
    (void)state;
    sh_value_id x;
    sh_net net = begin(true, SHAPE(2, 3, 4, 4), &x);
    const sh_value_id bad = sh_layer_reshape(&net, x, SHAPE(5));
    const sh_attributes a = {.kernel = {1, 1}};
    const sh_value_id made[] = {
        sh_net_convolve(&net, bad, x, x, &a),
        sh_net_convolve_transposed(&net, bad, x, x, &a, a.stride),
        sh_net_resize(&net, bad, &(sh_resize){.size = {1, 1}}),
        sh_net_depth_to_space(&net, bad, 2, true),
        sh_net_space_to_depth(&net, bad, 2),
        sh_net_pool(&net, SH_OP_max_pool, bad, &a, true),
        sh_net_global_max_pool(&net, bad),
        sh_net_batch_norm(&net, bad, &(sh_batch_norm){.mean = x}),
        sh_net_layer_norm(&net, bad, x, x, 0, 0),
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        assert_int_equal(made[i], SH_NO_VALUE);
    assert_fails(sh_graph_status(net.graph), SH_INVALID, "reshape: 2x3x4x4 and 5");
    sh_graph_free(net.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_may_differ),
        cmocka_unit_test(lines_use_the_second_setting),
        cmocka_unit_test(transposed_convolutions_increase),
        cmocka_unit_test(images_are_resized),
        cmocka_unit_test(blocks_are_moved),
        cmocka_unit_test(statistics_move_as_told),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(a_failure_goes_through_all_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
