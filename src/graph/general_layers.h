/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers with all settings, whose weights are passed as values. To write a model, use
 * graph/layers.h.
 *
 * Images are [N, C, H, W]; settings are pairs for height and width. Functions for images also
 * accept lines [N, C, L], which use the second setting of each pair. Strides, dilations and groups
 * of 0 mean 1. After a failure every function accepts and returns SH_NO_VALUE (graph.h).
 *
 *     const sh_attributes a = {.stride = {2, 2}, .padding = {1, 1}, .end_padding = {0, 0}};
 *     x = sh_net_convolve(&net, x, weight, SH_NO_VALUE, &a);
 *
 * Threads: caller locks. Pointers are borrowed for the call.
 */
#ifndef SHOAL_GRAPH_GENERAL_LAYERS_H
#define SHOAL_GRAPH_GENERAL_LAYERS_H

#include "graph/layers.h"

/*
 * Convolves images x with w [O, C / groups, R, S] (lines: [O, C / groups, S]) and adds b, [O] or
 * SH_NO_VALUE. Reads stride, padding, end_padding, dilation, groups.
 */
sh_value_id sh_net_convolve(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b,
                            const sh_attributes *attributes);

/*
 * Transposed convolution: x [N, C, H, W], w [C, O / groups, R, S], b [O] or SH_NO_VALUE
 * -> [N, O, P, Q] with P = stride (H - 1) + dilation (R - 1) + 1 - padding - end_padding +
 * output_padding. Q is computed likewise.
 */
sh_value_id sh_net_convolve_transposed(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b,
                                       const sh_attributes *attributes,
                                       const size_t output_padding[2]);

/* Pooling: `op` is max_pool or avg_pool. Reads kernel, stride, padding, end_padding, inside. With
 * `ceil` the last window may extend beyond the padding at the end, but must begin before it. */
sh_value_id sh_net_pool(sh_net *net, sh_op op, sh_value_id x, const sh_attributes *attributes,
                        bool ceil);

/* Maximum of each channel: images x -> [N, C, 1, 1]. Sides are at most 255. */
sh_value_id sh_net_global_max_pool(sh_net *net, sh_value_id x);

/* ONNX's Resize, without antialiasing. For each axis, either size or scale may be 0. */
typedef struct sh_resize {
    size_t size[2]; /* 0: the old size times scale, rounded down */
    float scale[2]; /* 0: the new size divided by the old one */
    sh_resize_position position;
    sh_resize_method method;
    float coefficient; /* cubic; 0: SH_RESIZE_COEFFICIENT */
    bool inside;       /* cubic: only elements inside the image count */
} sh_resize;
sh_value_id sh_net_resize(sh_net *net, sh_value_id x, const sh_resize *of);

/*
 * x [N, C b b, H, W] -> [N, C, H b, W b] with b = block. The channel dimension is [b, b, C] (ONNX's
 * DCR), or with `crd` [C, b, b]. space_to_depth is the inverse, always in the order DCR.
 */
sh_value_id sh_net_depth_to_space(sh_net *net, sh_value_id x, size_t block, bool crd);
sh_value_id sh_net_space_to_depth(sh_net *net, sh_value_id x, size_t block);

/* All values are [C]. */
typedef struct sh_batch_norm {
    sh_value_id weight, bias, mean, variance;
    float epsilon;  /* 0: 1e-5 */
    float momentum; /* weight of the new value; 0: SH_MOMENTUM. ONNX and Keras store 1 - momentum */
} sh_batch_norm;

/*
 * x [N, C, ...] -> the same shape. If net->training is set and the given mean and variance are both
 * parameters of SH_ROLE_STATISTIC, the layer normalises x by its own statistics and the parameters
 * become moving averages of these. Otherwise it uses the given ones, which never change. If only
 * one of the two has that role, it is frozen.
 */
sh_value_id sh_net_batch_norm(sh_net *net, sh_value_id x, const sh_batch_norm *of);

/* Normalises over the dimensions from `axis` on. w and b have the shape of these dimensions. */
sh_value_id sh_net_layer_norm(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b, size_t axis,
                              float epsilon);

#endif
