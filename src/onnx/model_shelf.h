/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks of imported models in the cache folder.
 *
 *     SH_TRY(sh_model_shelf_put(network));
 *     ...
 *     SH_TRY(sh_model_shelf_get(&network, "lenet.onnx@4f0c..."));    // on this device, later
 *
 * The skeleton lies in CACHE/models/DIGEST.onnx, whole or not at all, and is compared with its
 * digest when it is read.
 *
 * Threads: any; processes may share a cache folder.
 */
#ifndef SHOAL_ONNX_MODEL_SHELF_H
#define SHOAL_ONNX_MODEL_SHELF_H

#include "onnx/network.h"

/* Keeps a network. SH_NOT_FOUND where there is no cache folder that only this user can write. */
sh_status sh_model_shelf_put(const sh_network *network) SHOAL_CHECKED;

/*
 * The network of a spec; `*network` is owned by one user: sh_network_unref. SH_INVALID: not a spec;
 * SH_NOT_FOUND: it is not in the cache; SH_CORRUPT: what is there has another digest.
 */
sh_status sh_model_shelf_get(sh_network **network, const char *spec) SHOAL_CHECKED;

/*
 * The network that a user names: by an ONNX file, "nets/lenet.onnx", and then it is put into the
 * cache where that is possible; or by a spec, from the cache. Both are NULL for any other name.
 * `*network` as above; `*file` is the file, owned: sh_onnx_close it; NULL for a spec. Fails as
 * sh_onnx_open, sh_network_of_model and sh_model_shelf_get do.
 */
sh_status sh_model_shelf_open(sh_network **network, sh_onnx **file, const char *name) SHOAL_CHECKED;

#endif
