/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer writes the header with zeros instead of the checksum, then the tensors directly from
 * the caller's buffers, and hashes both in the same pass. At the end it writes the digits to their
 * fixed position.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "store/safetensors.h"
#include "store/safetensors_layout.h"

#define ZEROS_16 "0000000000000000"
#define ZEROS_64 ZEROS_16 ZEROS_16 ZEROS_16 ZEROS_16

_Static_assert(sizeof ZEROS_64 == SH_DIGEST_TEXT, "as many zeros as the digest has digits");

/* Consumes `value`, which may be NULL. `what` is for the error message. */
static sh_status put(json_t *object, const char *key, json_t *value, const char *what)
{
    if (key[0] == '\0' || json_object_get(object, key) != NULL) {
        json_decref(value);
        return sh_fail(SH_INVALID, "%s \"%s\" is %s", what, key,
                       key[0] == '\0' ? "empty" : "given twice or reserved");
    }
    if (json_object_set_new(object, key, value) != 0)
        return sh_fail(SH_INVALID, "%s \"%s\" is not UTF-8 text, or memory ran out", what, key);
    return SH_OK;
}

static sh_status put_tensor(json_t *header, const sh_stored_tensor *tensor, uint64_t *position)
{
    SH_TRY(sh_fail_in(sh_shape_check(&tensor->type.shape), "tensor \"%s\"", tensor->name));
    uint64_t end;
    if (__builtin_add_overflow(*position, sh_type_bytes(&tensor->type), &end) || end > INT64_MAX)
        return sh_fail(SH_LIMIT, "tensor \"%s\" makes the file larger than files can be",
                       tensor->name);
    json_t *shape = json_array();
    for (size_t i = 0; i < tensor->type.shape.rank; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)tensor->type.shape.dim[i])) !=
            0) {
            json_decref(shape);
            return sh_fail_memory(64, "a safetensors header");
        }
    json_t *about =
        json_pack("{s:s, s:o, s:[I, I]}", "dtype", sh_dtype_text(tensor->type.dtype), "shape",
                  shape, "data_offsets", (json_int_t)*position, (json_int_t)end);
    SH_TRY(put(header, tensor->name, about, "tensor name"));
    *position = end;
    return SH_OK;
}

/* `*text` is owned, and padded so that 8 + *bytes is a multiple of 8. */
static sh_status make_header(char **text, size_t *bytes, const sh_stored_tensor *tensors,
                             size_t count, const sh_metadata *pairs, size_t pair_count)
{
    uint64_t position = 0;
    char *json = NULL;
    sh_status status;
    if (count > SH_SAFETENSORS_TENSORS)
        return sh_fail(SH_LIMIT, "%zu tensors, at most %zu fit in a file", count,
                       SH_SAFETENSORS_TENSORS);
    json_t *header = json_object(), *metadata = json_object();
    if (json_object_set_new(header, "__metadata__", metadata) != 0)
        SH_TRY_DONE(sh_fail_memory(64, "a safetensors header"));
    SH_TRY_DONE(put(metadata, SH_SAFETENSORS_CHECKSUM, json_string(ZEROS_64), "metadata key"));
    for (size_t i = 0; i < pair_count; i++)
        SH_TRY_DONE(put(metadata, pairs[i].key, json_string(pairs[i].text), "metadata key"));
    for (size_t i = 0; i < count; i++)
        SH_TRY_DONE(put_tensor(header, &tensors[i], &position));
    json = json_dumps(header, JSON_COMPACT);
    const size_t length = json == NULL ? 0 : strlen(json), padded = (length + 7) & ~(size_t)7;
    if (padded > SH_SAFETENSORS_HEADER_BYTES)
        SH_TRY_DONE(sh_fail(SH_LIMIT,
                            "names and metadata take %zu bytes, at most %" PRIu64 " are allowed",
                            padded, SH_SAFETENSORS_HEADER_BYTES));
    char *grown = json == NULL ? NULL : realloc(json, padded + 1);
    if (grown == NULL)
        SH_TRY_DONE(sh_fail_memory(padded + 1, "a safetensors header"));
    json = NULL;
    memset(grown + length, ' ', padded - length);
    grown[padded] = '\0';
    *text = grown;
    *bytes = padded;
done:
    free(json);
    json_decref(header);
    return status;
}

static sh_status add(sh_file_writer *writer, sh_digest *digest, const void *data, size_t bytes)
{
    sh_digest_add(digest, data, bytes);
    return sh_file_writer_add(writer, data, bytes);
}

sh_status sh_safetensors_write_to(sh_file_writer *writer, const sh_stored_tensor *tensors,
                                  size_t count, const sh_metadata *pairs, size_t pair_count)
{
    char *header = NULL, hex[SH_DIGEST_TEXT];
    size_t header_bytes = 0;
    sh_digest *digest = NULL;
    sh_status status;
    SH_TRY(sh_fail_in(make_header(&header, &header_bytes, tensors, count, pairs, pair_count), "%s",
                      sh_file_writer_path(writer)));
    const uint64_t length = header_bytes;
    SH_TRY_DONE(sh_digest_new(&digest));
    SH_TRY_DONE(add(writer, digest, &length, sizeof length));
    SH_TRY_DONE(add(writer, digest, header, header_bytes));
    for (size_t i = 0; i < count; i++)
        SH_TRY_DONE(add(writer, digest, tensors[i].data, sh_type_bytes(&tensors[i].type)));
done:
    free(header);
    if (digest != NULL) { /* sh_digest_finish frees it */
        const sh_status finished = sh_digest_finish(digest, hex);
        status = status == SH_OK ? finished : status;
    }
    SH_TRY(status);
    return sh_file_writer_patch(writer, SH_CHECKSUM_OFFSET, hex, SH_CHECKSUM_DIGITS);
}

sh_status sh_safetensors_write(const char *path, const sh_stored_tensor *tensors, size_t count,
                               const sh_metadata *pairs, size_t pair_count)
{
    sh_file_writer *writer;
    SH_TRY(sh_file_writer_open(&writer, path));
    const sh_status status = sh_safetensors_write_to(writer, tensors, count, pairs, pair_count);
    if (status == SH_OK)
        return sh_file_writer_commit(writer);
    sh_file_writer_discard(writer);
    return status;
}
