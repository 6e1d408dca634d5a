/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skeleton of an ONNX model: its network without the values that are trained. It is what a job
 * names as its model, and small enough to be sent to devices that join.
 *
 *     sh_skeleton skeleton;
 *     SH_TRY(sh_skeleton_make(&skeleton, model));
 *     ... skeleton.bytes, skeleton.digest ...
 *     sh_skeleton_release(&skeleton);
 *
 * It is an ONNX file, whose metadata_props say that it is one (SH_ONNX_SKELETON): nodes, inputs,
 * outputs, versions, the values of constants as raw_data; of trained tensors and statistics
 * (onnx/roles.h) the name, type and shape. Models with equal networks have equal skeletons, to the
 * byte, whatever their weights, the encoding of their constants, and what they say for people. The
 * skeleton of a skeleton is itself.
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

/* SH_LIMIT where it would be larger than SH_SKELETON_MOST; SH_UNSUPPORTED where a constant is of a
 * type that cannot be read. */
sh_status sh_skeleton_make(sh_skeleton *skeleton, const sh_onnx *model) SHOAL_CHECKED;

/* The graph of the skeleton: trained tensors have no raw_data, constants have. Its messages are
 * borrowed from the arena and the model. Failures as above. */
sh_status sh_skeleton_graph(Sh__Onnx__GraphProto *graph, sh_arena *arena,
                            const sh_onnx *model) SHOAL_CHECKED;

/* The digest of a skeleton's bytes. */
sh_status sh_skeleton_digest(char digest[SH_DIGEST_TEXT], const void *bytes,
                             size_t count) SHOAL_CHECKED;

void sh_skeleton_release(sh_skeleton *skeleton);

#endif
