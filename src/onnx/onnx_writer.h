/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an ONNX file: a model's network with other values of what is trained.
 *
 *     const sh_onnx_writing writing = {
 *         .model = skeleton, .values = find_weights, .write = add_to_file, .context = &place,
 *         .pairs = pairs, .pair_count = 2};
 *     SH_TRY(sh_onnx_write(&writing));
 *
 * Names and order of nodes and tensors, the operator sets and the version of the format are the
 * model's. All values are raw_data in the one file, behind everything else of their tensor, and are
 * handed on without being copied. Equal input gives equal bytes.
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_ONNX_WRITER_H
#define SHOAL_ONNX_ONNX_WRITER_H

#include "onnx/onnx_file.h"

/* An entry of metadata_props; UTF-8, borrowed during the call. */
typedef struct sh_onnx_pair {
    const char *key, *text;
} sh_onnx_pair;

typedef struct sh_onnx_writing {
    const sh_onnx *model; /* a whole one or a skeleton */

    /* The values of a tensor that is trained or a statistic (onnx/roles.h): tensor->count of them,
     * borrowed until the next call. NULL: there are none, and writing fails. */
    const float *(*values)(void *context, const sh_onnx_tensor *tensor);

    /* Appends to the file; its failure ends the writing and is returned. */
    sh_status (*write)(void *context, const void *bytes, size_t count);

    void *context; /* of both functions */
    const sh_onnx_pair *pairs;
    size_t pair_count;
} sh_onnx_writing;

/* SH_UNSUPPORTED where a trained tensor is not float32 in the model, SH_LIMIT where the file would
 * have 2 GiB or more: both before anything is written. SH_NOT_FOUND where `values` has none. */
sh_status sh_onnx_write(const sh_onnx_writing *writing) SHOAL_CHECKED;

#endif
