/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skeleton of an ONNX model: its network without the trained values.
 *
 * A skeleton is an ONNX file that its metadata_props mark as such (SH_ONNX_SKELETON). It has the
 * nodes, inputs, outputs and versions, and the values of constants as raw_data. Of trained tensors
 * and statistics (onnx/roles.h) it has the name, type and shape. Models with equal networks have
 * identical skeletons, whatever their weights, the encoding of their constants, and their
 * documentation. The skeleton of a skeleton is the skeleton itself.
 *
 *     sh_skeleton skeleton;
 *     SH_TRY(sh_skeleton_make(&skeleton, model));
 *     ... skeleton.bytes, skeleton.digest ...
 *     sh_skeleton_release(&skeleton);
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_SKELETON_H
#define SHOAL_ONNX_SKELETON_H

#include "base/digest.h"
#include "base/memory.h"
#include "onnx/onnx_file.h"

#define SH_SKELETON_MOST ((size_t)16 << 20) /* bytes */

typedef struct sh_skeleton {
    uint8_t *bytes; /* owned */
    size_t count;
    char digest[SH_DIGEST_TEXT]; /* SHA-256 of the bytes */
} sh_skeleton;

/* SH_LIMIT if the skeleton is larger than SH_SKELETON_MOST, SH_UNSUPPORTED if a constant has a type
 * that cannot be read. */
sh_status sh_skeleton_make(sh_skeleton *skeleton, const sh_onnx *model) SHOAL_CHECKED;

/* Makes only the graph. Its messages are borrowed from the arena and the model. Failures as for
 * sh_skeleton_make. */
sh_status sh_skeleton_graph(Sh__Onnx__GraphProto *graph, sh_arena *arena,
                            const sh_onnx *model) SHOAL_CHECKED;

sh_status sh_skeleton_digest(char digest[SH_DIGEST_TEXT], const void *bytes,
                             size_t count) SHOAL_CHECKED;

void sh_skeleton_release(sh_skeleton *skeleton);

#endif
