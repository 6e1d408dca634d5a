/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes files of named tensors in the safetensors format
 * (github.com/huggingface/safetensors). The format has only data, so a file cannot run code.
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
 * In files written here, the first metadata is a SHA-256 over the whole file, computed with its own
 * 64 digits as '0'. sh_safetensors_verify checks it. Numbers are little-endian.
 *
 * Threads: any number may read one open file. Error messages name the file and the tensor or byte.
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
 * Limits of a header. They are smaller than the format's 100 MiB, because a parsed header with many
 * small values takes twenty times its bytes. The longest text is the description of the data
 * (data/trained.h: 16 MiB, in which a quote takes two bytes). 16,384 tensors are a model of 4,096
 * with the state of the optimiser. Values are counted by commas and brackets.
 */
#define SH_SAFETENSORS_HEADER_BYTES ((uint64_t)36 << 20)
#define SH_SAFETENSORS_TENSORS ((size_t)16384)
#define SH_SAFETENSORS_VALUES (16 * SH_SAFETENSORS_TENSORS)

/* The metadata key of the checksum; callers must not pass it. */
#define SH_SAFETENSORS_CHECKSUM "shoal.sha256"

/* A tensor to write; all pointers are borrowed during the call. */
typedef struct sh_stored_tensor {
    const char *name; /* UTF-8, not empty */
    sh_type type;
    const void *data; /* sh_type_bytes(&type) bytes */
} sh_stored_tensor;

/* A metadata pair in UTF-8; borrowed during the call. */
typedef struct sh_metadata {
    const char *key;
    const char *text;
} sh_metadata;

/*
 * Replaces `path` atomically (store/file.h) by a file of these tensors and pairs, in this order.
 * Equal input gives equal bytes. The data begins at a multiple of 8 bytes and is never copied.
 * SH_INVALID: a name or key is empty, duplicate, reserved or not UTF-8. SH_LIMIT: a shape or the
 * header is too large.
 */
sh_status sh_safetensors_write(const char *path, const sh_stored_tensor *tensors, size_t count,
                               const sh_metadata *pairs, size_t pair_count) SHOAL_CHECKED;

/* Writes the same file to an empty writer, which the caller commits or discards. */
sh_status sh_safetensors_write_to(sh_file_writer *writer, const sh_stored_tensor *tensors,
                                  size_t count, const sh_metadata *pairs,
                                  size_t pair_count) SHOAL_CHECKED;

typedef struct sh_safetensors sh_safetensors;

/*
 * Opens a file, and reads and checks its header, but not the data. `*file` is owned: close it.
 * SH_FORMAT: malformed header. SH_LIMIT: the header exceeds the limits above. SH_CORRUPT: the file
 * is shorter than its header requires. SH_INVALID: `path` is not a regular file.
 */
sh_status sh_safetensors_open(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* As above for a file in a folder of ours (store/file.h). SH_REFUSED: it is a symbolic link. */
sh_status sh_safetensors_open_own(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* As above for a file in memory. `bytes` is borrowed until close. `label` is its name; copied. */
sh_status sh_safetensors_open_bytes(sh_safetensors **file, const char *label, const void *bytes,
                                    size_t count) SHOAL_CHECKED;

/* Closes and frees the file. NULL is fine. */
void sh_safetensors_close(sh_safetensors *file);

/* The path or label. This and the texts below are borrowed until close. */
const char *sh_safetensors_path(const sh_safetensors *file);

/* The number of tensors, and the name of one. Indices follow the order of the data. */
size_t sh_safetensors_count(const sh_safetensors *file);
const char *sh_safetensors_name(const sh_safetensors *file, size_t index);

/*
 * Returns the type and shape of a tensor. SH_UNSUPPORTED: shoal does not support this element type
 * of the format. SH_LIMIT: the shape is too large. Other tensors of the file can still be read.
 */
sh_status sh_safetensors_type(sh_type *type, const sh_safetensors *file,
                              size_t index) SHOAL_CHECKED;

/* Finds a tensor by name. SH_NOT_FOUND: there is none. */
sh_status sh_safetensors_find(size_t *index, const sh_safetensors *file,
                              const char *name) SHOAL_CHECKED;

/* Returns the metadata text of a key, or NULL. */
const char *sh_safetensors_metadata(const sh_safetensors *file, const char *key);

/* Reads the data of a tensor. SH_MISMATCH: `bytes` is not the size of its type. On failure the
 * content of the buffer is undefined. */
sh_status sh_safetensors_read(const sh_safetensors *file, size_t index, void *buffer,
                              size_t bytes) SHOAL_CHECKED;

/* Finds `name`, checks that it is of `type` (SH_MISMATCH), and reads it into `buffer`. */
sh_status sh_safetensors_load(const sh_safetensors *file, const char *name, const sh_type *type,
                              void *buffer) SHOAL_CHECKED;

/*
 * Reads the whole file and compares its checksum. SH_CORRUPT: it differs. SH_NOT_FOUND: the file
 * has no checksum; other programs do not write one.
 */
sh_status sh_safetensors_verify(const sh_safetensors *file) SHOAL_CHECKED;

/* Returns SHA-256 over the file's bytes, as sha256sum prints it. Reads the whole file. */
sh_status sh_safetensors_hash(char hex[SH_DIGEST_TEXT], const sh_safetensors *file) SHOAL_CHECKED;

#endif
