/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named tensors in a file: the safetensors format (github.com/huggingface/safetensors), which holds
 * data only, so reading one can run no code.
 *
 *     sh_safetensors *file;
 *     SH_TRY(sh_safetensors_open(&file, "resnet20.safetensors"));
 *     status = sh_safetensors_load(file, "conv1.weight", &type, weights);
 *     sh_safetensors_close(file);
 *
 *     u64 length of the header | header: JSON, padded with spaces | data, without holes
 *     {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
 *      "data_offsets": [begin, end]}}          offsets count from the end of the header
 *
 * Files written here start their metadata with a SHA-256 over the whole file, in which its own 64
 * digits count as '0'; sh_safetensors_verify checks it. Numbers are little-endian.
 *
 * Threads: any number may read one open file. Every failure names the file and the tensor or byte.
 */
#ifndef SHOAL_STORE_SAFETENSORS_H
#define SHOAL_STORE_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fail.h"
#include "store/file.h"
#include "tensor/shape.h"

/*
 * Limits of a header, smaller than the format's own 100 MiB: a parsed header takes twenty times its
 * bytes where it has many small values. Longer texts are the data's description (data/trained.h: 16
 * MiB, where a quote takes two bytes), 16,384 tensors are a model of 4,096 with the optimiser's
 * state. Values are counted by their commas and brackets.
 */
#define SH_SAFETENSORS_HEADER_BYTES ((uint64_t)36 << 20)
#define SH_SAFETENSORS_TENSORS ((size_t)16384)
#define SH_SAFETENSORS_VALUES (16 * SH_SAFETENSORS_TENSORS)

/* The metadata key of the checksum; callers do not give it. */
#define SH_SAFETENSORS_CHECKSUM "shoal.sha256"

/* A tensor to be written; all borrowed during the call. */
typedef struct sh_stored_tensor {
    const char *name; /* UTF-8, not empty */
    sh_type type;
    const void *data; /* sh_type_bytes(&type) of them */
} sh_stored_tensor;

/* A pair of the metadata; UTF-8, borrowed during the call. */
typedef struct sh_metadata {
    const char *key;
    const char *text;
} sh_metadata;

/*
 * Replaces `path` by a file of these tensors and pairs, in this order, atomically (store/file.h).
 * Equal input gives equal bytes. The data begins at a multiple of 8 bytes and is never copied.
 * SH_INVALID for a name or key that is empty, given twice, reserved or not UTF-8; SH_LIMIT for a
 * shape or a header that is too large.
 */
sh_status sh_safetensors_write(const char *path, const sh_stored_tensor *tensors, size_t count,
                               const sh_metadata *pairs, size_t pair_count) SHOAL_CHECKED;

/* The same into a writer that has no bytes yet; the caller commits or discards it. */
sh_status sh_safetensors_write_to(sh_file_writer *writer, const sh_stored_tensor *tensors,
                                  size_t count, const sh_metadata *pairs,
                                  size_t pair_count) SHOAL_CHECKED;

typedef struct sh_safetensors sh_safetensors;

/*
 * Reads and checks the header; the data stays in the file. `*file` is owned: close it.
 * SH_FORMAT for a malformed header, SH_LIMIT for one beyond the limits above, SH_CORRUPT where the
 * file is shorter than it says, SH_INVALID where `path` is not a regular file.
 */
sh_status sh_safetensors_open(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* The same for a file in a folder of ours: SH_REFUSED where it is a symbolic link (store/file.h).
 */
sh_status sh_safetensors_open_own(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* The same for a file in memory: `bytes` is borrowed until close, `label` (copied) is its name. */
sh_status sh_safetensors_open_bytes(sh_safetensors **file, const char *label, const void *bytes,
                                    size_t count) SHOAL_CHECKED;

/* NULL is fine. */
void sh_safetensors_close(sh_safetensors *file);

/* The path or label. This and the texts below are borrowed until close. */
const char *sh_safetensors_path(const sh_safetensors *file);

/* Tensors, indexed in the order of their data. */
size_t sh_safetensors_count(const sh_safetensors *file);
const char *sh_safetensors_name(const sh_safetensors *file, size_t index);

/*
 * What a tensor is. SH_UNSUPPORTED for an element type that the format knows and we do not,
 * SH_LIMIT for a shape that we cannot hold: such a tensor hurts only who asks for it.
 */
sh_status sh_safetensors_type(sh_type *type, const sh_safetensors *file,
                              size_t index) SHOAL_CHECKED;

/* SH_NOT_FOUND where no tensor has the name. */
sh_status sh_safetensors_find(size_t *index, const sh_safetensors *file,
                              const char *name) SHOAL_CHECKED;

/* The metadata's text for a key; NULL where it has none. */
const char *sh_safetensors_metadata(const sh_safetensors *file, const char *key);

/* Reads a tensor's data; `bytes` is its size by its type, or SH_MISMATCH. On failure the buffer
 * holds anything. */
sh_status sh_safetensors_read(const sh_safetensors *file, size_t index, void *buffer,
                              size_t bytes) SHOAL_CHECKED;

/* Finds `name`, checks that it is of `type` (SH_MISMATCH), and reads it into `buffer`. */
sh_status sh_safetensors_load(const sh_safetensors *file, const char *name, const sh_type *type,
                              void *buffer) SHOAL_CHECKED;

/*
 * Reads the whole file once and compares its checksum: SH_CORRUPT where it differs, SH_NOT_FOUND
 * where the file carries none (other programs write none).
 */
sh_status sh_safetensors_verify(const sh_safetensors *file) SHOAL_CHECKED;

/* SHA-256 over the file's bytes, as sha256sum has it. Reads the whole file. */
sh_status sh_safetensors_hash(char hex[SH_DIGEST_TEXT], const sh_safetensors *file) SHOAL_CHECKED;

#endif
