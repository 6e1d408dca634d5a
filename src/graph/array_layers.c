/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/array_layers.h"

static const sh_shape *shape_of(sh_net *net, sh_value_id x)
{
    return x == SH_NO_VALUE ? NULL : &sh_graph_type(net->graph, x)->shape;
}

static sh_value_id add_node(sh_net *net, sh_op op, uint32_t function, sh_value_id a, sh_value_id b)
{
    const sh_attributes attributes = {.function = function};
    return sh_graph_add(net->graph, op, &attributes, (sh_value_id[]){a, b}, NULL);
}

sh_value_id sh_layer_unary(sh_net *net, sh_unary function, sh_value_id x, const float *numbers)
{
    sh_attributes attributes = {.function = function};
    for (int i = 0; i < 2 && numbers != NULL; i++)
        attributes.numbers[i] = numbers[i];
    return sh_net_apply(net, SH_OP_unary, &attributes, x);
}

sh_value_id sh_layer_pair(sh_net *net, sh_pair_function function, sh_value_id a, sh_value_id b)
{
    const sh_shape *of_a = shape_of(net, a), *of_b = shape_of(net, b);
    if (of_a == NULL || of_b == NULL)
        return SH_NO_VALUE;
    if (sh_shape_equal(of_a, of_b) && function == SH_PAIR_ADD)
        return add_node(net, SH_OP_add, 0, a, b);
    if (sh_shape_equal(of_a, of_b) && function == SH_PAIR_SUBTRACT)
        return add_node(net, SH_OP_subtract, 0, a, b);
    if (sh_shape_equal(of_a, of_b) && function == SH_PAIR_MULTIPLY)
        return add_node(net, SH_OP_multiply, 0, a, b);
    return add_node(net, SH_OP_broadcast, function, a, b);
}

sh_value_id sh_layer_where(sh_net *net, sh_value_id condition, sh_value_id a, sh_value_id b)
{
    return sh_layer_pair(net, SH_PAIR_ADD, sh_layer_pair(net, SH_PAIR_KEEP, a, condition),
                         sh_layer_pair(net, SH_PAIR_DROP, b, condition));
}

/* True if the dimensions form one contiguous range. */
static bool is_range(uint32_t axes, size_t *first, size_t *count)
{
    for (*first = 0; (axes >> *first & 1) == 0; (*first)++)
        ;
    for (*count = 0; (axes >> (*first + *count) & 1) != 0; (*count)++)
        ;
    return axes >> *first >> *count == 0;
}

sh_value_id sh_layer_reduce(sh_net *net, sh_reduction function, sh_value_id x, uint32_t axes,
                            bool keep)
{
    const sh_shape *of_x = shape_of(net, x);
    if (of_x == NULL || axes == 0)
        return x;
    if (axes >> of_x->rank != 0)
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID, "reduce: x has no dimension after %zu", of_x->rank - 1));
    sh_shape kept = *of_x, rest = {0};
    for (size_t i = 0; i < of_x->rank; i++)
        if ((axes >> i & 1) != 0)
            kept.dim[i] = 1;
        else
            rest.dim[rest.rank++] = of_x->dim[i];
    sh_attributes attributes = {.function = function, .shape = kept};
    const bool range = is_range(axes, &attributes.axis, &attributes.axes);
    x = sh_net_apply(net, function == SH_REDUCE_MEAN && range ? SH_OP_mean : SH_OP_reduce,
                     &attributes, x);
    of_x = shape_of(net, x);
    if (of_x == NULL || sh_shape_equal(of_x, keep ? &kept : &rest))
        return x;
    return sh_layer_reshape(net, x, keep ? kept : rest);
}

sh_value_id sh_layer_expand(sh_net *net, sh_value_id x, sh_shape shape)
{
    const sh_shape *of_x = shape_of(net, x);
    if (of_x == NULL)
        return SH_NO_VALUE;
    sh_attributes attributes = {.shape = of_x->rank > shape.rank ? *of_x : shape};
    sh_shape *whole = &attributes.shape;
    for (size_t i = 1; i <= of_x->rank && i <= shape.rank; i++)
        if (shape.dim[shape.rank - i] == 1)
            whole->dim[whole->rank - i] = of_x->dim[of_x->rank - i];
        else
            whole->dim[whole->rank - i] = shape.dim[shape.rank - i];
    return sh_shape_equal(of_x, whole) ? x : sh_net_apply(net, SH_OP_expand, &attributes, x);
}

sh_value_id sh_layer_gather(sh_net *net, sh_value_id x, sh_value_id indices, size_t axis)
{
    const sh_attributes attributes = {.axis = axis};
    return sh_graph_add(net->graph, SH_OP_gather, &attributes, (sh_value_id[]){x, indices}, NULL);
}

/* Expands one dimension at a time: [before, 1, rest] to [before, copies, rest]. */
sh_value_id sh_layer_tile(sh_net *net, sh_value_id x, const size_t *copies)
{
    const sh_shape *of_x = shape_of(net, x);
    const size_t rank = of_x == NULL ? 0 : of_x->rank;
    for (size_t i = 0; i < rank && x != SH_NO_VALUE; i++) {
        sh_shape tiled = *shape_of(net, x);
        size_t before = 1;
        for (size_t j = 0; j < i; j++)
            before *= tiled.dim[j];
        const size_t rest = sh_shape_count(&tiled) / before;
        if (copies[i] == 1)
            continue;
        x = sh_layer_reshape(net, x, sh_shape_of(3, (size_t[]){before, 1, rest}));
        const sh_attributes attributes = {.shape =
                                              sh_shape_of(3, (size_t[]){before, copies[i], rest})};
        x = sh_net_apply(net, SH_OP_expand, &attributes, x); /* checks the size */
        if (x != SH_NO_VALUE)
            tiled.dim[i] *= copies[i];
        x = sh_layer_reshape(net, x, tiled);
    }
    return x;
}
