/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oneDNN backend: convolutions and dense layers by oneDNN's generated kernels
 * (https://oneapi-src.github.io/oneDNN/v2.6/), batch normalisation, pooling and joining in the
 * layout that these leave. Every call of the library is in this folder, so that another version of
 * it is one folder's work.
 *
 *     const sh_backend *const all[] = {&sh_onednn_backend, &sh_portable_backend, NULL};
 *
 * It declines what the library has no kernel made for this processor for, and what would take
 * memory inside a run; the portable backend computes that. Each operator's file says what is taken.
 *
 * Threads: as backend.h says. One engine serves the process: it is made by the first call and never
 * freed, because the library's own cache of primitives refers to it until the process ends.
 */
#ifndef SHOAL_BACKEND_ONEDNN_ONEDNN_H
#define SHOAL_BACKEND_ONEDNN_ONEDNN_H

#include "backend/compiler.h"

extern const sh_backend sh_onednn_backend;

/* Compilers of one family of operators each: what sh_backend.compile says. */
sh_status sh_onednn_conv2d(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_linear(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_norm(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_max_pool(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_max_pool_grad(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_average(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_average_grad(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_dropout(sh_compiler *compiler, const sh_node *node, bool *taken);
sh_status sh_onednn_move(sh_compiler *compiler, const sh_node *node, bool *taken);

#endif
