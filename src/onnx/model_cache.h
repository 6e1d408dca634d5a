/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks of imported models in the cache folder.
 *
 * A skeleton is stored in CACHE/models/DIGEST.onnx. The file is written atomically, and its digest
 * is checked when it is read.
 *
 *     SH_TRY(sh_model_cache_put(network));
 *     ...
 *     SH_TRY(sh_model_cache_get(&network, "lenet.onnx@4f0c..."));    // on this device, later
 *
 * Threads: any; processes may share a cache folder.
 */
#ifndef SHOAL_ONNX_MODEL_CACHE_H
#define SHOAL_ONNX_MODEL_CACHE_H

#include "onnx/network.h"

/* SH_NOT_FOUND if there is no cache folder that only this user can write, SH_REFUSED if its
 * `models` folder belongs to another user or others can write it. */
sh_status sh_model_cache_put(const sh_network *network) SHOAL_CHECKED;

/* The caller owns one reference. SH_INVALID: not a spec; SH_NOT_FOUND: not in the cache;
 * SH_CORRUPT: the stored file has another digest. */
sh_status sh_model_cache_get(sh_network **network, const char *spec) SHOAL_CHECKED;

/*
 * Opens the network that a user names. An ONNX file is read and put into the cache if possible. A
 * spec is read from the cache; `*file` is NULL then. For any other name both are NULL. The caller
 * owns one reference to `*network`, and owns `*file`. Fails as sh_onnx_open, sh_network_of_model
 * and sh_model_cache_get do.
 */
sh_status sh_model_cache_open(sh_network **network, sh_onnx **file, const char *name) SHOAL_CHECKED;

#endif
