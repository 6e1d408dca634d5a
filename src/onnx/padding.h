/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a Pad node: how much is added to each end of each dimension, and with what.
 *
 *     sh_onnx_padding padding;
 *     SH_TRY(sh_onnx_padding_of(&padding, node, rank, pads, axes));
 *     if (sh_onnx_padding_place(&place, &padding, axis, i, dim))
 *         y[i] = x[place];
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_PADDING_H
#define SHOAL_ONNX_PADDING_H

#include "onnx/constant.h"

typedef enum sh_onnx_pad_mode {
    SH_ONNX_PAD_CONSTANT,
    SH_ONNX_PAD_REFLECT, /* mirrored at the first and the last element, which are not repeated */
    SH_ONNX_PAD_EDGE,    /* repeats the first and the last element */
    SH_ONNX_PAD_WRAP,    /* continues at the other end */
} sh_onnx_pad_mode;

typedef struct sh_onnx_padding {
    sh_onnx_pad_mode mode;
    int64_t before[SH_ONNX_RANK_MOST], after[SH_ONNX_RANK_MOST]; /* negative: elements removed */
} sh_onnx_padding;

/* `pads` and `axes` are inputs of the node, or NULL. */
sh_status sh_onnx_padding_of(sh_onnx_padding *padding, sh_onnx_node *node, size_t rank,
                             const sh_onnx_constant *pads,
                             const sh_onnx_constant *axes) SHOAL_CHECKED;

/* Computes the padded size of a dimension. SH_INVALID if it is negative or there is no element to
 * repeat. */
sh_status sh_onnx_padding_size(size_t *size, const sh_onnx_padding *padding, size_t axis,
                               size_t dim) SHOAL_CHECKED;

/* Finds which element of a dimension becomes element `i` of the padded one. False if it is the
 * constant. */
bool sh_onnx_padding_place(size_t *place, const sh_onnx_padding *padding, size_t axis, size_t i,
                           size_t dim);

#endif
