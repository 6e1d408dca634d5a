/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skeletons of ONNX models in the cache folder, and how a job names them.
 *
 *     char spec[SH_MODEL_SPEC];
 *     SH_TRY(sh_model_shelf_put(spec, model, "nets/lenet.onnx")); // "lenet.onnx@4f0c..."
 *     ...
 *     SH_TRY(sh_model_shelf_get(&skeleton, spec));                // on this device, or another
 *
 * A spec is NAME.onnx@DIGEST: a name for people, which is the file's, and the digest of the
 * skeleton (onnx/skeleton.h), which alone says what model it is. The skeleton lies in
 * CACHE/models/DIGEST.onnx, whole or not at all, and is compared with its digest when it is read.
 *
 * Threads: any; processes may share a cache folder.
 */
#ifndef SHOAL_ONNX_MODEL_SHELF_H
#define SHOAL_ONNX_MODEL_SHELF_H

#include "base/digest.h"
#include "onnx/onnx_file.h"
#include "onnx/skeleton.h"

#define SH_MODEL_NAME_MOST 32 /* bytes of NAME */
#define SH_MODEL_SPEC (SH_MODEL_NAME_MOST + sizeof ".onnx@" - 1 + SH_DIGEST_TEXT)

/*
 * Writes the spec of a skeleton whose model came from `path`. NAME is its last part without
 * ".onnx": 32 bytes at most, with '_' for all but A-Z, a-z, 0-9, '.', '_' and '-'; "model" where
 * nothing is left.
 */
void sh_model_spec(char spec[SH_MODEL_SPEC], const char *path, const char digest[SH_DIGEST_TEXT]);

/* Whether a text is such a spec; copies its digest, where `digest` is not NULL. */
bool sh_model_spec_is(const char *text, char digest[SH_DIGEST_TEXT]);

/* Makes the model's skeleton, keeps it in the cache folder, and writes its spec. SH_NOT_FOUND where
 * there is no cache folder that only this user can write. */
sh_status sh_model_shelf_put(char spec[SH_MODEL_SPEC], const sh_onnx *model,
                             const char *path) SHOAL_CHECKED;

/* Keeps a skeleton that was received. SH_CORRUPT where it has another digest than the spec. */
sh_status sh_model_shelf_keep(const char *spec, const void *bytes, size_t count) SHOAL_CHECKED;

/*
 * Opens the skeleton of a spec; `*model` is owned: sh_onnx_close. SH_INVALID: not a spec;
 * SH_NOT_FOUND: it is not in the cache; SH_CORRUPT: what is there has another digest.
 */
sh_status sh_model_shelf_get(sh_onnx **model, const char *spec) SHOAL_CHECKED;

/* Its bytes, to be sent: owned, free() them. Failures as above. */
sh_status sh_model_shelf_read(uint8_t **bytes, size_t *count, const char *spec) SHOAL_CHECKED;

#endif
