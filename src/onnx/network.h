/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of an imported model, without its weights: what a job names, a run's folder and the
 * cache keep, and devices give each other.
 *
 *     sh_network *network;
 *     SH_TRY(sh_network_of_model(&network, model, "nets/lenet.onnx"));  // of a file
 *     SH_TRY(sh_network_of_bytes(&network, spec, bytes, count));        // read, or received
 *     ... network->spec names it: "lenet.onnx@4f0c..." ...
 *     sh_network_unref(network);
 *
 * A spec is NAME.onnx@DIGEST: a name for people, which is the file's, and the digest of the
 * skeleton (onnx/skeleton.h), which alone says what network it is.
 *
 * Threads: any number may read one; the caller locks ref and unref.
 */
#ifndef SHOAL_ONNX_NETWORK_H
#define SHOAL_ONNX_NETWORK_H

#include "base/digest.h"
#include "onnx/onnx_file.h"
#include "onnx/skeleton.h"

#define SH_MODEL_NAME_MOST 32 /* bytes of NAME */
#define SH_MODEL_SPEC (SH_MODEL_NAME_MOST + sizeof ".onnx@" - 1 + SH_DIGEST_TEXT)

typedef struct sh_network {
    char spec[SH_MODEL_SPEC];
    uint8_t *bytes; /* of the skeleton; owned */
    size_t count;
    sh_onnx *model; /* the skeleton, open; owned */
    unsigned users;
} sh_network;

/*
 * Writes the spec of a skeleton whose model came from `path`. NAME is its last part without
 * ".onnx": 32 bytes at most, with '_' for all but A-Z, a-z, 0-9, '.', '_' and '-'; "model" where
 * nothing is left.
 */
void sh_model_spec(char spec[SH_MODEL_SPEC], const char *path, const char digest[SH_DIGEST_TEXT]);

/* Whether a text is such a spec; copies its digest, where `digest` is not NULL. */
bool sh_model_spec_is(const char *text, char digest[SH_DIGEST_TEXT]);

/* The digest of a spec. SH_INVALID: it is none. */
sh_status sh_model_spec_digest(char digest[SH_DIGEST_TEXT], const char *spec) SHOAL_CHECKED;

/* The network of an open model, which came from `path`. `*network` is owned by one user. Fails as
 * sh_skeleton_make does. */
sh_status sh_network_of_model(sh_network **network, const sh_onnx *model,
                              const char *path) SHOAL_CHECKED;

/*
 * The network of a spec, from its skeleton. `bytes` come from malloc and are taken over, also on
 * failure. They may be anybody's: nothing reads them before their digest is right. SH_INVALID: not
 * a spec; SH_LIMIT: more than SH_SKELETON_MOST; SH_CORRUPT: another digest. `*network` as above.
 */
sh_status sh_network_of_bytes(sh_network **network, const char *spec, uint8_t *bytes,
                              size_t count) SHOAL_CHECKED;

/* SH_CORRUPT where the skeleton of the spec has another digest than these bytes; other failures as
 * above. */
sh_status sh_network_check(const char *spec, const uint8_t *bytes, size_t count) SHOAL_CHECKED;

/* One user more; the same network. NULL is fine, as below. */
sh_network *sh_network_ref(sh_network *network);

/* One user less; the last one frees it. */
void sh_network_unref(sh_network *network);

#endif
