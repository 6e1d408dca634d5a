/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means and extremes over some dimensions. */
#include "graph/array_layers.h"
#include "onnx/importer.h"

/* With `negated` what is reduced and the result have the other sign. */
static sh_status import_reduction(sh_onnx_use *use, sh_reduction function, bool negated)
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
    if (!given && sh_onnx_node_integer(&use->node, "noop_with_empty_axes", 0) != 0) {
        sh_import_pass(use);
        return SH_OK;
    }
    if (batch != SH_NO_AXIS && (!given || over[batch]))
        return sh_fail(SH_UNSUPPORTED,
                       "it goes over the samples, and each of them is computed by itself");
    for (size_t i = 0; i < rank; i++) {
        axes |= over[i] || !given ? SH_AXIS(i) : 0;
        before += over[i] && !keep && batch != SH_NO_AXIS && i < batch;
    }
    if (negated)
        x = sh_net_apply(net, SH_OP_negate, NULL, x);
    y = sh_layer_reduce(net, function, x, axes, keep);
    if (negated)
        y = sh_net_apply(net, SH_OP_negate, NULL, y);
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, 0, y, batch == SH_NO_AXIS ? batch : batch - before);
    return SH_OK;
}

sh_status sh_import_reduce_mean(sh_onnx_use *use)
{
    return import_reduction(use, SH_REDUCE_MEAN, false);
}

sh_status sh_import_reduce_sum(sh_onnx_use *use)
{
    return import_reduction(use, SH_REDUCE_SUM, false);
}

sh_status sh_import_reduce_max(sh_onnx_use *use)
{
    return import_reduction(use, SH_REDUCE_LARGEST, false);
}

sh_status sh_import_reduce_min(sh_onnx_use *use)
{
    return import_reduction(use, SH_REDUCE_LARGEST, true);
}
