/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Pad asks for: how much is added to each end of each dimension, and with what.
 *
 *     sh_onnx_padding padding;
 *     SH_TRY(sh_onnx_padding_of(&padding, node, rank, pads, axes));
 *     if (sh_onnx_padding_place(&place, &padding, axis, i, dim))
 *         y[i] = x[place];
 *
 * Threads: any; these are values.
 */
#ifndef SHOAL_ONNX_PADDING_H
#define SHOAL_ONNX_PADDING_H

#include "onnx/constant.h"

typedef enum sh_onnx_pad_mode {
    SH_ONNX_PAD_CONSTANT,
    SH_ONNX_PAD_REFLECT, /* mirrored at the first and the last element, which are not repeated */
    SH_ONNX_PAD_EDGE,    /* the first and the last element, repeated */
    SH_ONNX_PAD_WRAP,    /* from the other end */
} sh_onnx_pad_mode;

typedef struct sh_onnx_padding {
    sh_onnx_pad_mode mode;
    int64_t before[SH_ONNX_RANK_MOST], after[SH_ONNX_RANK_MOST]; /* below 0: left out */
} sh_onnx_padding;

/* Reads the node's settings for an input of `rank` dimensions; `pads` and `axes` are its inputs, or
 * NULL. */
sh_status sh_onnx_padding_of(sh_onnx_padding *padding, sh_onnx_node *node, size_t rank,
                             const sh_onnx_constant *pads,
                             const sh_onnx_constant *axes) SHOAL_CHECKED;

/* How long a dimension of `dim` becomes. SH_INVALID: nothing is left, or there is nothing to
 * repeat. */
sh_status sh_onnx_padding_size(size_t *size, const sh_onnx_padding *padding, size_t axis,
                               size_t dim) SHOAL_CHECKED;

/* Which element of a dimension of `dim` is number `i` of the padded one; false: none, but the
 * constant. */
bool sh_onnx_padding_place(size_t *place, const sh_onnx_padding *padding, size_t axis, size_t i,
                           size_t dim);

#endif
