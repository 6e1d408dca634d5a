/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes files of named tensors in the safetensors format
 * (github.com/huggingface/safetensors).
 *
 *     u64 length of the header | header: JSON, padded with spaces | data, without holes
 *
 *     {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3],
 *      "data_offsets": [begin, end]}}          offsets count from the end of the header
 *
 * In files written here, the first metadata is a SHA-256 over the whole file, computed with its own
 * 64 digits as '0'. Numbers are little-endian.
 *
 * Threads: any number may read one open file.
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
 * Limits of a header, because parsed small values take twenty times their bytes. The longest text
 * describes the data (data/trained.h: 16 MiB, in which a quote takes two bytes). 16,384 tensors are
 * a model of 4,096 with the state of the optimiser. Values are counted by commas and brackets.
 */
#define SH_SAFETENSORS_HEADER_BYTES ((uint64_t)36 << 20)
#define SH_SAFETENSORS_TENSORS ((size_t)16384)
#define SH_SAFETENSORS_VALUES (16 * SH_SAFETENSORS_TENSORS)

/* Callers must not pass this key, which is for the checksum. */
#define SH_SAFETENSORS_CHECKSUM "shoal.sha256"

/* Borrowed during the call. */
typedef struct sh_stored_tensor {
    const char *name; /* UTF-8, not empty */
    sh_type type;
    const void *data; /* sh_type_bytes(&type) bytes */
} sh_stored_tensor;

/* UTF-8; borrowed during the call. */
typedef struct sh_metadata {
    const char *key;
    const char *text;
} sh_metadata;

/*
 * Replaces `path` atomically (store/file.h) by a file of these tensors and pairs, in this order.
 * Equal input gives equal bytes. The data begins at a multiple of 8 bytes. SH_INVALID: a name or
 * key is empty, duplicate, reserved or not UTF-8. SH_LIMIT: a shape or the header is too large.
 */
sh_status sh_safetensors_write(const char *path, const sh_stored_tensor *tensors, size_t count,
                               const sh_metadata *pairs, size_t pair_count) SHOAL_CHECKED;

/* The writer is empty; the caller commits or discards it. */
sh_status sh_safetensors_write_to(sh_file_writer *writer, const sh_stored_tensor *tensors,
                                  size_t count, const sh_metadata *pairs,
                                  size_t pair_count) SHOAL_CHECKED;

typedef struct sh_safetensors sh_safetensors;

/*
 * Reads and checks the header, but not the data. `*file` is owned: close it. SH_FORMAT: malformed
 * header. SH_LIMIT: the header exceeds the limits above. SH_CORRUPT: the file is shorter than its
 * header requires. SH_INVALID: `path` is not a regular file.
 */
sh_status sh_safetensors_open(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* For a file in a folder of ours (store/file.h). SH_REFUSED: a symbolic link. */
sh_status sh_safetensors_open_own(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* `bytes` is borrowed until close. `label` is the name in messages; copied. */
sh_status sh_safetensors_open_bytes(sh_safetensors **file, const char *label, const void *bytes,
                                    size_t count) SHOAL_CHECKED;

void sh_safetensors_close(sh_safetensors *file);

/* This and the texts below are borrowed until close. */
const char *sh_safetensors_path(const sh_safetensors *file);

/* Indices follow the order of the data. */
size_t sh_safetensors_count(const sh_safetensors *file);
const char *sh_safetensors_name(const sh_safetensors *file, size_t index);

/*
 * SH_UNSUPPORTED: shoal does not support this element type of the format. SH_LIMIT: the shape is
 * too large. Other tensors can still be read.
 */
sh_status sh_safetensors_type(sh_type *type, const sh_safetensors *file,
                              size_t index) SHOAL_CHECKED;

/* SH_NOT_FOUND: there is none. */
sh_status sh_safetensors_find(size_t *index, const sh_safetensors *file,
                              const char *name) SHOAL_CHECKED;

/* Returns NULL if there is no such key. */
const char *sh_safetensors_metadata(const sh_safetensors *file, const char *key);

/* SH_MISMATCH: `bytes` is not the size of its type. On failure the content of the buffer is
 * undefined. */
sh_status sh_safetensors_read(const sh_safetensors *file, size_t index, void *buffer,
                              size_t bytes) SHOAL_CHECKED;

/* SH_MISMATCH: the tensor is not of `type`. */
sh_status sh_safetensors_load(const sh_safetensors *file, const char *name, const sh_type *type,
                              void *buffer) SHOAL_CHECKED;

/* SH_CORRUPT: the checksum differs. SH_NOT_FOUND: there is none, as in files of other programs. */
sh_status sh_safetensors_verify(const sh_safetensors *file) SHOAL_CHECKED;

/* Returns SHA-256 over the file's bytes, as sha256sum prints it. */
sh_status sh_safetensors_hash(char hex[SH_DIGEST_TEXT], const sh_safetensors *file) SHOAL_CHECKED;

#endif
