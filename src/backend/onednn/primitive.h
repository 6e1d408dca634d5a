/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a oneDNN operation to an instruction: what all operators of this backend share.
 *
 *     dnnl_primitive_desc_t chosen;
 *     SH_TRY(sh_onednn_choose(&chosen, &operation, NULL));
 *     if (chosen == NULL)
 *         return SH_OK;                                               // not taken
 *     *taken = true;
 *     return sh_onednn_emit(compiler, node, chosen);
 *
 * Operands are asked for in the layouts that the chosen implementation wants. A memory descriptor
 * (md) that means plain row-major becomes the plain layout, so that nothing is converted for
 * nothing.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BACKEND_ONEDNN_PRIMITIVE_H
#define SHOAL_BACKEND_ONEDNN_PRIMITIVE_H

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include "backend/onednn/onednn.h"

/* The process's engine; NULL where the library cannot make one. */
dnnl_engine_t sh_onednn_engine(void);

/* SH_OK for dnnl_success, else a failure that says what was tried. */
sh_status sh_onednn_check(dnnl_status_t status, const char *tried) SHOAL_CHECKED;

/* Does the library say that it has no such thing? Then the node is portable's; nothing failed. */
static inline bool sh_onednn_lacks(dnnl_status_t status)
{
    return status == dnnl_unimplemented || status == dnnl_invalid_arguments;
}

/*
 * The md of a tensor (F32 or U8) in a layout. False where an element's index does not fit 31 bits,
 * which the library's kernels count with.
 */
bool sh_onednn_md(dnnl_memory_desc_t *md, const sh_type *type, dnnl_format_tag_t tag);

/*
 * Chooses an implementation of an operation (dnnl_..._desc_t): *chosen is owned
 * (sh_onednn_drop), NULL where there is none. `forward` is the operation that a backward one
 * belongs to, else NULL.
 */
sh_status sh_onednn_choose(dnnl_primitive_desc_t *chosen, const void *operation,
                           const_dnnl_primitive_desc_t forward) SHOAL_CHECKED;

/* Is `part` in the implementation's name, for example "jit:avx512_core" or "gemm:ref"? */
bool sh_onednn_is(const_dnnl_primitive_desc_t chosen, const char *part);

/* Frees a descriptor and sets it to NULL. NULL is fine. */
void sh_onednn_drop(dnnl_primitive_desc_t *chosen);

/* The layout that an md means; its description lives as long as the compiler. */
sh_status sh_onednn_layout(sh_compiler *compiler, sh_layout *layout,
                           const dnnl_memory_desc_t *md) SHOAL_CHECKED;

/* The channels-last layout of a value [N, C, ...] of at most this rank. */
#define SH_ONEDNN_CHANNELS_LAST_RANK 5
sh_status sh_onednn_channels_last(sh_compiler *compiler, sh_layout *layout,
                                  sh_value_id value) SHOAL_CHECKED;

/* Was the value made in a layout of this backend? */
static inline bool sh_onednn_owns(const sh_compiler *compiler, sh_value_id value)
{
    return sh_compiler_layout(compiler, value).owner == &sh_onednn_backend;
}

/*
 * Emits the primitive on the node's operands, with scratch as it needs. `chosen` is owned from here
 * on, also where this fails.
 */
sh_status sh_onednn_emit(sh_compiler *compiler, const sh_node *node,
                         dnnl_primitive_desc_t chosen) SHOAL_CHECKED;

/*
 * The same where the primitive computes the node as another operator: a dense one (linear or its
 * gradients), whose rows are then the pixels of channels-last images.
 */
sh_status sh_onednn_emit_as(sh_compiler *compiler, const sh_node *node, sh_op op,
                            dnnl_primitive_desc_t chosen) SHOAL_CHECKED;

/*
 * For the weight gradients, (x, dy) -> (dw, db): computes db from dy, whose channels are its second
 * dimension and lie side by side in `layout` (NULL: plain, of a dy [N, O]).
 */
sh_status sh_onednn_emit_bias_gradient(sh_compiler *compiler, const sh_node *node,
                                       const sh_layout *layout) SHOAL_CHECKED;

/* Compiles a convolution of 1x1, or a gradient of its, as matrix products. Others are not taken. */
sh_status sh_onednn_pointwise(sh_compiler *compiler, const sh_node *node,
                              bool *taken) SHOAL_CHECKED;

/*
 * Compiles conv2d_grad_weight where each channel is a group of its own, by loops on channels-last
 * activations: for shapes that the library has no such kernel for. Others are not taken.
 */
sh_status sh_onednn_depthwise_grad_weight(sh_compiler *compiler, const sh_node *node,
                                          bool *taken) SHOAL_CHECKED;

/*
 * Compiles conv2d and conv2d_grad_weight of images of one channel, by loops on channels-last
 * activations, where these are faster than the library. Others are not taken.
 */
sh_status sh_onednn_grey(sh_compiler *compiler, const sh_node *node, bool *taken) SHOAL_CHECKED;

/* The backend's same_layout and convert (backend.h). */
bool sh_onednn_same_layout(const sh_layout *a, const sh_layout *b);
sh_status sh_onednn_convert(sh_compiler *compiler, sh_value_id value, sh_buffer_id from,
                            const sh_layout *from_layout, sh_buffer_id to,
                            const sh_layout *to_layout) SHOAL_CHECKED;

#endif
