/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "graph/array_layers.h"
#include "onnx/importer.h"

static sh_value_id line(const sh_onnx_use *use, sh_value_id x, float alpha, float beta)
{
    return sh_layer_unary(use->importer->net, SH_UNARY_LINE, x, (float[]){alpha, beta});
}

static sh_value_id pair(const sh_onnx_use *use, sh_pair_function function, sh_value_id a,
                        sh_value_id b)
{
    return sh_layer_pair(use->importer->net, function, a, b);
}

static sh_value_id unary(const sh_onnx_use *use, sh_unary function, sh_value_id x)
{
    return sh_layer_unary(use->importer->net, function, x, NULL);
}

static sh_status give(const sh_onnx_use *use, sh_value_id y)
{
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

static sh_status begin(sh_value_id *x, const sh_onnx_use *use)
{
    SH_TRY(sh_import_arity(use, 1, 1));
    return sh_import_value(x, use, 0);
}

/* gamma (x if x > 0, else alpha (e^x - 1)). */
sh_status sh_import_selu(sh_onnx_use *use)
{
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 1.67326319217681884765625f);
    const float gamma = sh_onnx_node_number(&use->node, "gamma", 1.05070102214813232421875f);
    sh_value_id x;
    SH_TRY(begin(&x, use));
    x = sh_layer_unary(use->importer->net, SH_UNARY_ELU, x, (float[]){alpha, 0});
    return give(use, line(use, x, gamma, 0));
}

/* alpha elu(x / alpha). */
sh_status sh_import_celu(sh_onnx_use *use)
{
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 1);
    sh_value_id x;
    SH_TRY(begin(&x, use));
    if (!(alpha > 0))
        return sh_fail(SH_UNSUPPORTED, "its alpha is %g, expected more than 0", (double)alpha);
    x = line(use, x, 1 / alpha, 0);
    x = sh_layer_unary(use->importer->net, SH_UNARY_ELU, x, (float[]){1, 0});
    return give(use, line(use, x, alpha, 0));
}

/* x if x > alpha, else 0. */
sh_status sh_import_thresholded_relu(sh_onnx_use *use)
{
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 1);
    sh_value_id x;
    SH_TRY(begin(&x, use));
    const sh_value_id above =
        sh_net_apply(use->importer->net, SH_OP_relu, NULL, line(use, x, 1, -alpha));
    return give(use, pair(use, SH_PAIR_KEEP, x, above));
}

/* x / (1 + |x|). */
sh_status sh_import_softsign(sh_onnx_use *use)
{
    sh_value_id x;
    SH_TRY(begin(&x, use));
    const sh_value_id below = line(use, unary(use, SH_UNARY_ABS, x), 1, 1);
    return give(use, pair(use, SH_PAIR_DIVIDE, x, below));
}

/* x (1 + erf(x / sqrt(2))) / 2, or x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. */
sh_status sh_import_gelu(sh_onnx_use *use)
{
    const float root = 0.7978845608f;
    sh_value_id x;
    SH_TRY(begin(&x, use));
    if (!sh_onnx_node_says(&use->node, "approximate", "tanh"))
        return give(use, sh_net_apply(use->importer->net, SH_OP_gelu, NULL, x));
    const sh_value_id square = pair(use, SH_PAIR_MULTIPLY, x, x);
    const sh_value_id inner =
        pair(use, SH_PAIR_MULTIPLY, x, line(use, square, 0.044715f * root, root));
    const sh_value_id bent = sh_net_apply(use->importer->net, SH_OP_tanh, NULL, inner);
    return give(use, pair(use, SH_PAIR_MULTIPLY, x, line(use, bent, 0.5f, 0.5f)));
}

/* Root mean square over the dimensions from `axis` on: x / sqrt(mean x^2 + epsilon) w. */
sh_status sh_import_rms_norm(sh_onnx_use *use)
{
    sh_net *net = use->importer->net;
    sh_value_id x, w;
    size_t axis;
    uint32_t axes = 0;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_weights(&w, use, 1, SH_IMPORT_ONE));
    const size_t rank = sh_import_shape(use, x)->rank;
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", -1), rank));
    if (use->in[0]->batch != SH_NO_AXIS && axis <= use->in[0]->batch)
        return sh_fail(SH_UNSUPPORTED, "it normalises over the samples");
    for (size_t i = axis; i < rank; i++)
        axes |= SH_AXIS(i);
    const sh_value_id mean =
        sh_layer_reduce(net, SH_REDUCE_MEAN, pair(use, SH_PAIR_MULTIPLY, x, x), axes, true);
    const float epsilon = sh_onnx_node_number(&use->node, "epsilon", 1e-5f);
    const sh_value_id root = unary(use, SH_UNARY_SQRT, line(use, mean, 1, epsilon));
    return give(use, pair(use, SH_PAIR_MULTIPLY, pair(use, SH_PAIR_DIVIDE, x, root), w));
}
