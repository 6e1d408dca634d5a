/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/array_layers.h"
#include "onnx/importer.h"

typedef enum around {
    AROUND_NOTHING,
    AROUND_NEGATED, /* negates both input and result */
    AROUND_ABS,
    AROUND_SQUARE,
    AROUND_ROOT, /* square root of the sum of squares */
    AROUND_LOG,
    AROUND_LOG_EXP,
} around;

static sh_value_id before_it(sh_net *net, around what, sh_value_id x)
{
    switch (what) {
    case AROUND_NEGATED:
        return sh_net_apply(net, SH_OP_negate, NULL, x);
    case AROUND_ABS:
        return sh_layer_unary(net, SH_UNARY_ABS, x, NULL);
    case AROUND_SQUARE:
    case AROUND_ROOT:
        return sh_layer_pair(net, SH_PAIR_MULTIPLY, x, x);
    default:
        return x;
    }
}

static sh_value_id after_it(sh_net *net, around what, sh_value_id y)
{
    switch (what) {
    case AROUND_NEGATED:
        return sh_net_apply(net, SH_OP_negate, NULL, y);
    case AROUND_ROOT:
        return sh_layer_unary(net, SH_UNARY_SQRT, y, NULL);
    case AROUND_LOG:
    case AROUND_LOG_EXP:
        return sh_layer_unary(net, SH_UNARY_LOG, y, NULL);
    default:
        return y;
    }
}

/* log sum e^x, computed as m + log sum e^(x - m), with the maximum m. */
static sh_value_id log_sum_exp(sh_net *net, sh_value_id x, uint32_t axes, bool keep)
{
    const sh_value_id m = sh_layer_reduce(net, SH_REDUCE_LARGEST, x, axes, true);
    const sh_value_id less = sh_layer_pair(net, SH_PAIR_SUBTRACT, x, m);
    const sh_value_id e = sh_layer_unary(net, SH_UNARY_EXP, less, NULL);
    const sh_value_id sum = sh_layer_reduce(net, SH_REDUCE_SUM, e, axes, true);
    const sh_value_id y = sh_layer_pair(net, SH_PAIR_ADD, after_it(net, AROUND_LOG, sum), m);
    return keep ? y : sh_layer_reduce(net, SH_REDUCE_SUM, y, axes, false);
}

static sh_status import_reduction(sh_onnx_use *use, sh_reduction function, around what)
{
    bool over[SH_MAX_RANK], given;
    sh_net *net = use->importer->net;
    sh_value_id x, y;
    uint32_t axes = 0;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    size_t rank = sh_import_shape(use, x)->rank, before = 0;
    const size_t batch = use->in[0]->batch;
    SH_TRY(sh_import_axes(over, &given, use, 1, 0, &rank));
    const bool keep = sh_onnx_node_integer(&use->node, "keepdims", 1) != 0;
    bool all = true; /* if no axes are listed */
    for (size_t i = 0; i < rank; i++)
        all &= !over[i];
    if (all && sh_onnx_node_integer(&use->node, "noop_with_empty_axes", 0) != 0) {
        sh_import_pass(use);
        return SH_OK;
    }
    if (batch != SH_NO_AXIS && (all || over[batch]))
        return sh_fail(SH_UNSUPPORTED, "it runs over the samples, which are computed one by one");
    for (size_t i = 0; i < rank; i++) {
        axes |= over[i] || all ? SH_AXIS(i) : 0;
        before += over[i] && !keep && batch != SH_NO_AXIS && i < batch;
    }
    if (what == AROUND_LOG_EXP)
        y = log_sum_exp(net, x, axes, keep);
    else
        y = after_it(net, what,
                     sh_layer_reduce(net, function, before_it(net, what, x), axes, keep));
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, 0, y, batch == SH_NO_AXIS ? batch : batch - before);
    return SH_OK;
}

#define REDUCTION(name, function, what)                                                            \
    sh_status sh_import_##name(sh_onnx_use *use)                                                   \
    {                                                                                              \
        return import_reduction(use, function, what);                                              \
    }
REDUCTION(reduce_mean, SH_REDUCE_MEAN, AROUND_NOTHING)
REDUCTION(reduce_sum, SH_REDUCE_SUM, AROUND_NOTHING)
REDUCTION(reduce_max, SH_REDUCE_LARGEST, AROUND_NOTHING)
REDUCTION(reduce_min, SH_REDUCE_LARGEST, AROUND_NEGATED)
REDUCTION(reduce_l1, SH_REDUCE_SUM, AROUND_ABS)
REDUCTION(reduce_l2, SH_REDUCE_SUM, AROUND_ROOT)
REDUCTION(reduce_sum_square, SH_REDUCE_SUM, AROUND_SQUARE)
REDUCTION(reduce_log_sum, SH_REDUCE_SUM, AROUND_LOG)
REDUCTION(reduce_log_sum_exp, SH_REDUCE_SUM, AROUND_LOG_EXP)
