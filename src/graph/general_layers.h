/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers with every setting, on weights that are values: for networks that come with names and
 * numbers of their own. graph/layers.h is for those who write models.
 *
 *     const sh_attributes a = {.stride = {2, 2}, .padding = {1, 1}, .end_padding = {0, 0}};
 *     x = sh_net_convolve(&net, x, weight, SH_NO_VALUE, &a);
 *
 * Images are [N, C, H, W]; settings are pairs for height and width. What is said of images holds
 * for lines [N, C, L] too: these use the second of each pair. A stride, a dilation and a number of
 * groups of 0 are 1. Every function takes and gives SH_NO_VALUE after a failure (graph.h). Threads:
 * caller locks. Values and structs are borrowed for the call.
 */
#ifndef SHOAL_GRAPH_GENERAL_LAYERS_H
#define SHOAL_GRAPH_GENERAL_LAYERS_H

#include "graph/layers.h"

/*
 * x of images, w [O, C / groups, R, S] (lines: [O, C / groups, S]), b [O] or SH_NO_VALUE. Reads
 * stride, padding, end_padding, dilation, groups.
 */
sh_value_id sh_net_convolve(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b,
                            const sh_attributes *attributes);

/*
 * Transposed: x [N, C, H, W], w [C, O / groups, R, S], b [O] or SH_NO_VALUE -> [N, O, P, Q] with
 * P = stride (H - 1) + dilation (R - 1) + 1 - padding - end_padding + output_padding, Q alike.
 */
sh_value_id sh_net_convolve_transposed(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b,
                                       const sh_attributes *attributes,
                                       const size_t output_padding[2]);

/*
 * Windows: `op` is max_pool or avg_pool. Reads kernel, stride, padding, end_padding, inside.
 * `ceil`: a last window may reach beyond the padding, but begins before it, as in PyTorch and ONNX.
 */
sh_value_id sh_net_pool(sh_net *net, sh_op op, sh_value_id x, const sh_attributes *attributes,
                        bool ceil);

/* The largest of each channel: x of images -> [N, C, 1, 1]. Sides are at most 255. */
sh_value_id sh_net_global_max_pool(sh_net *net, sh_value_id x);

/* ONNX's Resize, without antialiasing. Of size and scale of an axis one may be 0. */
typedef struct sh_resize {
    size_t size[2]; /* 0: what was there times scale, rounded down */
    float scale[2]; /* 0: the new size divided by the old one */
    sh_resize_position position;
    sh_resize_method method;
    float coefficient; /* cubic; 0: SH_RESIZE_COEFFICIENT */
    bool inside;       /* cubic: only what lies in the image counts */
} sh_resize;
sh_value_id sh_net_resize(sh_net *net, sh_value_id x, const sh_resize *of);

/*
 * x [N, C b b, H, W] -> [N, C, H b, W b], b = block: of the channels' three parts the first two are
 * place in the block and the last is C (ONNX: DCR), or `crd`, C comes first. And back, DCR.
 */
sh_value_id sh_net_depth_to_space(sh_net *net, sh_value_id x, size_t block, bool crd);
sh_value_id sh_net_space_to_depth(sh_net *net, sh_value_id x, size_t block);

/* Weight, bias, mean and variance are parameters or other values, [C]. */
typedef struct sh_batch_norm {
    sh_value_id weight, bias, mean, variance;
    float epsilon;  /* 0: 1e-5 */
    float momentum; /* of mean and variance; 0: SH_MOMENTUM. ONNX and Keras write 1 - momentum */
} sh_batch_norm;

/*
 * x [N, C, ...] -> the same shape. In training the mean and variance are the grain's, and those
 * given follow them if both are parameters of SH_ROLE_STATISTIC; otherwise those given are used,
 * and stay as they are.
 */
sh_value_id sh_net_batch_norm(sh_net *net, sh_value_id x, const sh_batch_norm *of);

/* Normalises over the dimensions from `axis` on. w and b have the shape of these. */
sh_value_id sh_net_layer_norm(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b, size_t axis,
                              float epsilon);

#endif
