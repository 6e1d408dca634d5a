/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of an imported model, without its weights.
 *
 * A spec is NAME.onnx@DIGEST. NAME is that of the file and only for display. DIGEST is that of the
 * skeleton (onnx/skeleton.h) and alone identifies the network.
 *
 *     sh_network *network;
 *     SH_TRY(sh_network_of_model(&network, model, "nets/lenet.onnx"));  // of a file
 *     SH_TRY(sh_network_of_bytes(&network, spec, bytes, count));        // read, or received
 *     ... network->spec names it: "lenet.onnx@4f0c..." ...
 *     sh_network_unref(network);
 *
 * Threads: any number may read one network; the caller locks ref and unref.
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
    uint8_t *bytes; /* the skeleton; owned */
    size_t count;
    sh_onnx *model; /* the skeleton, opened; owned */
    unsigned users;
} sh_network;

/* NAME is the last part of the path without ".onnx", cut to 32 bytes, with '_' for all characters
 * except A-Z, a-z, 0-9, '.', '_' and '-'. It is "model" if that leaves nothing. */
void sh_model_spec(char spec[SH_MODEL_SPEC], const char *path, const char digest[SH_DIGEST_TEXT]);

/* True if a text is a spec. Copies its digest unless `digest` is NULL. */
bool sh_model_spec_is(const char *text, char digest[SH_DIGEST_TEXT]);

/* SH_INVALID if the text is not a spec. */
sh_status sh_model_spec_digest(char digest[SH_DIGEST_TEXT], const char *spec) SHOAL_CHECKED;

/* `path` is where the model came from. The caller owns one reference. Fails as sh_skeleton_make
 * does. */
sh_status sh_network_of_model(sh_network **network, const sh_onnx *model,
                              const char *path) SHOAL_CHECKED;

/*
 * Takes ownership of `bytes`, the skeleton, also on failure. They must come from malloc. They may
 * be untrusted: they are parsed only after their digest was checked. SH_INVALID: not a spec;
 * SH_LIMIT: more than SH_SKELETON_MOST; SH_CORRUPT: another digest. The caller owns one reference.
 */
sh_status sh_network_of_bytes(sh_network **network, const char *spec, uint8_t *bytes,
                              size_t count) SHOAL_CHECKED;

/* SH_CORRUPT if these bytes are not the skeleton of the spec. Other failures as for
 * sh_network_of_bytes. */
sh_status sh_network_check(const char *spec, const uint8_t *bytes, size_t count) SHOAL_CHECKED;

/* Returns the same network. NULL is allowed. */
sh_network *sh_network_ref(sh_network *network);

/* The last reference frees the network. NULL is allowed. */
void sh_network_unref(sh_network *network);

#endif
