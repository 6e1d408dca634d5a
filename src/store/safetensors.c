/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader does not trust the file:
 *
 * - The length of the header is checked before it is read, and its values are counted before they
 *   are parsed, because each takes memory.
 * - Duplicate keys are refused.
 * - The size of each tensor is computed from its shape with overflow checks.
 * - The tensors, sorted by offset, must cover the data exactly, to the end of the file.
 *
 * Data is never mapped, because a mapped file that shrinks kills the process. Tensors with element
 * types that shoal does not support are refused only on access.
 */
#include "store/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "store/safetensors_layout.h"

#define CHUNK_BYTES ((size_t)64 << 10)

#define FORMAT_HEADER_BYTES ((uint64_t)100 << 20)

/* Nesting of brackets: the header, the description of a tensor, its shape. */
#define DEPTH_MOST 3

/* Most bytes of a name in messages. */
#define SHOWN_BYTES 96

/* The format's Dtype list; `ours` is -1 for unsupported types. */
static const struct dtype_row {
    const char *text;
    unsigned bits;
    int ours;
} dtype_rows[] = {
#define DTYPE_ROW(name, bytes, text) {text, 8 * (bytes), SH_##name},
    SH_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
        {"F64", 64, -1},
    {"I64", 64, -1},
    {"U64", 64, -1},
    {"C64", 64, -1},
    {"U32", 32, -1},
    {"F16", 16, -1},
    {"BF16", 16, -1},
    {"I16", 16, -1},
    {"U16", 16, -1},
    {"BOOL", 8, -1},
    {"I8", 8, -1},
    {"F8_E5M2", 8, -1},
    {"F8_E4M3", 8, -1},
    {"F8_E8M0", 8, -1},
    {"F6_E2M3", 6, -1},
    {"F6_E3M2", 6, -1},
    {"F4", 4, -1},
};

typedef struct entry {
    const char *name; /* borrowed from the JSON */
    const struct dtype_row *dtype;
    size_t rank;
    uint64_t dim[SH_MAX_RANK]; /* the first ones, if rank is larger */
    uint64_t begin, end;       /* in the data */
} entry;

struct sh_safetensors {
    char *path;
    int fd; /* -1: in memory */
    const unsigned char *bytes;
    uint64_t file_bytes;
    uint64_t data_offset;
    json_t *header;
    const json_t *metadata; /* may be NULL */
    entry *entries;         /* by offset */
    entry **by_name;
    size_t count;
    bool has_checksum;
};

static const char *show(const char *text, char shown[SHOWN_BYTES])
{
    const size_t room = SHOWN_BYTES - sizeof "..." + 1;
    sh_utf8_clean(shown, room, text);
    if (strlen(text) >= room)
        memcpy(shown + strlen(shown), "...", sizeof "...");
    for (char *quote = shown; (quote = strchr(quote, '"')) != NULL;)
        *quote = '\'';
    return shown;
}

static sh_status read_at(const sh_safetensors *file, void *buffer, size_t bytes, uint64_t offset)
{
    if (bytes > file->file_bytes || offset > file->file_bytes - bytes)
        return sh_fail(SH_CORRUPT,
                       "%s: is cut short: %" PRIu64 " bytes, %zu more needed at %" PRIu64,
                       file->path, file->file_bytes, bytes, offset);
    if (file->fd < 0) {
        if (bytes > 0)
            memcpy(buffer, file->bytes + offset, bytes);
        return SH_OK;
    }
    for (char *at = buffer; bytes > 0;) {
        const ssize_t got = pread(file->fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sh_fail_errno(errno, "%s: cannot read at byte %" PRIu64, file->path, offset);
        if (got == 0)
            return sh_fail(SH_CORRUPT,
                           "%s: became shorter while it was read: ends at byte %" PRIu64,
                           file->path, offset);
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return SH_OK;
}

static bool whole_number(const json_t *value, uint64_t *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

/* The caller adds the tensor's name to error messages. */
static sh_status parse_tensor(entry *tensor, const json_t *about)
{
    char given[SHOWN_BYTES];
    if (!json_is_object(about))
        return sh_fail(SH_FORMAT, "its description is not an object");
    const json_t *dtype = json_object_get(about, "dtype");
    if (!json_is_string(dtype))
        return sh_fail(SH_FORMAT, "dtype is missing or not a string");
    for (size_t i = 0; i < sizeof dtype_rows / sizeof *dtype_rows; i++)
        if (strcmp(dtype_rows[i].text, json_string_value(dtype)) == 0)
            tensor->dtype = &dtype_rows[i];
    if (tensor->dtype == NULL)
        return sh_fail(SH_FORMAT, "dtype \"%s\" is unknown", show(json_string_value(dtype), given));
    const json_t *shape = json_object_get(about, "shape");
    if (!json_is_array(shape))
        return sh_fail(SH_FORMAT, "shape is missing or not a list");
    tensor->rank = json_array_size(shape);
    uint64_t bits = tensor->dtype->bits;
    bool empty = false, vast = false;
    for (size_t i = 0; i < tensor->rank; i++) {
        uint64_t dim;
        if (!whole_number(json_array_get(shape, i), &dim))
            return sh_fail(SH_FORMAT, "dimension %zu is not a whole number", i);
        empty = empty || dim == 0;
        vast = __builtin_mul_overflow(bits, dim, &bits) || vast;
        if (i < SH_MAX_RANK)
            tensor->dim[i] = dim;
    }
    if (empty)
        bits = 0;
    else if (vast)
        return sh_fail(SH_FORMAT, "its shape has more elements than a file holds");
    if (bits % 8 != 0)
        return sh_fail(SH_FORMAT, "its %" PRIu64 " bits are not whole bytes", bits);
    const json_t *offsets = json_object_get(about, "data_offsets");
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !whole_number(json_array_get(offsets, 0), &tensor->begin) ||
        !whole_number(json_array_get(offsets, 1), &tensor->end))
        return sh_fail(SH_FORMAT, "data_offsets is not two whole numbers");
    if (tensor->begin > tensor->end)
        return sh_fail(SH_FORMAT, "data_offsets decrease, from %" PRIu64 " to %" PRIu64,
                       tensor->begin, tensor->end);
    if (json_object_size(about) != 3)
        return sh_fail(SH_FORMAT, "has a field besides dtype, shape, data_offsets");
    if (tensor->end - tensor->begin != bits / 8)
        return sh_fail(SH_FORMAT,
                       "dtype and shape need %" PRIu64 " bytes, data_offsets hold %" PRIu64,
                       bits / 8, tensor->end - tensor->begin);
    return SH_OK;
}

static sh_status parse_metadata(sh_safetensors *file, const json_t *metadata)
{
    if (!json_is_object(metadata))
        return sh_fail(SH_FORMAT, "%s: __metadata__ is not an object", file->path);
    const char *key;
    json_t *text;
    char shown[SHOWN_BYTES];
    json_object_foreach((json_t *)(uintptr_t)metadata, key, text)
    {
        if (!json_is_string(text))
            return sh_fail(SH_FORMAT, "%s: __metadata__ \"%s\" is not a string", file->path,
                           show(key, shown));
    }
    file->metadata = metadata;
    return SH_OK;
}

static int compare_offsets(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
    const entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The data of all tensors must be contiguous and end at the end of the file. */
static sh_status load_tensors(sh_safetensors *file)
{
    const size_t limit = json_object_size(file->header);
    const uint64_t data_bytes = file->file_bytes - file->data_offset;
    const char *name;
    json_t *value;
    char shown[SHOWN_BYTES];
    file->entries = calloc(limit + 1, sizeof *file->entries);
    file->by_name = calloc(limit + 1, sizeof(entry *));
    if (file->entries == NULL || file->by_name == NULL)
        return sh_fail_memory(limit * sizeof *file->entries, "a list of tensors");
    json_object_foreach(file->header, name, value)
    {
        if (strcmp(name, "__metadata__") == 0) {
            SH_TRY(parse_metadata(file, value));
            continue;
        }
        entry *tensor = &file->entries[file->count++];
        tensor->name = name;
        SH_TRY(sh_fail_in(parse_tensor(tensor, value), "%s: tensor \"%s\"", file->path,
                          show(name, shown)));
        if (tensor->end > data_bytes)
            return sh_fail(SH_CORRUPT,
                           "%s: is cut short: tensor \"%s\" ends at byte %" PRIu64
                           " of the data, which has %" PRIu64,
                           file->path, shown, tensor->end, data_bytes);
    }
    if (file->count > 1)
        qsort(file->entries, file->count, sizeof *file->entries, compare_offsets);
    uint64_t position = 0;
    for (size_t i = 0; i < file->count; i++) {
        const entry *tensor = &file->entries[i];
        if (tensor->begin != position)
            return sh_fail(SH_FORMAT,
                           "%s: tensor \"%s\" begins at byte %" PRIu64 " of the data, %s",
                           file->path, show(tensor->name, shown), tensor->begin,
                           tensor->begin < position ? "inside the one before" : "after a hole");
        position = tensor->end;
        file->by_name[i] = &file->entries[i];
    }
    if (position != data_bytes)
        return sh_fail(SH_FORMAT, "%s: %" PRIu64 " bytes follow the last tensor", file->path,
                       data_bytes - position);
    if (file->count > 1)
        qsort(file->by_name, file->count, sizeof(entry *), compare_names);
    return SH_OK;
}

/* Counts only brackets and commas outside of strings, also in text that is not valid JSON. */
static sh_status bound_header(const char *path, const char *text, size_t bytes)
{
    size_t depth = 0, objects = 0, values = 0;
    bool in_string = false;
    for (size_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        if (in_string)
            continue;
        if ((c == '}' || c == ']') && depth > 0)
            depth--;
        const bool opens = c == '{' || c == '[';
        objects += c == '{';
        values += opens || c == ',';
        if (opens && ++depth > DEPTH_MOST)
            return sh_fail(SH_FORMAT,
                           "%s: header, at byte %zu: nested too deeply for a safetensors header",
                           path, 8 + i);
        /* Two of the objects are the header and the metadata. */
        if (objects > SH_SAFETENSORS_TENSORS + 2)
            return sh_fail(SH_LIMIT,
                           "%s: its header has more than %zu tensors: split the file, or save "
                           "only the weights that are needed",
                           path, SH_SAFETENSORS_TENSORS);
        if (values > SH_SAFETENSORS_VALUES)
            return sh_fail(
                SH_LIMIT,
                "%s: its header has more than %zu values: save it again with only the weights",
                path, SH_SAFETENSORS_VALUES);
    }
    return SH_OK;
}

/* The source and size of the file are set. */
static sh_status load_header(sh_safetensors *file)
{
    uint64_t header_bytes;
    json_error_t error;
    char shown[SHOWN_BYTES];
    if (file->file_bytes < 8)
        return sh_fail(SH_FORMAT,
                       "%s: is not a safetensors file: %" PRIu64 " bytes, at least 8 needed",
                       file->path, file->file_bytes);
    SH_TRY(read_at(file, &header_bytes, sizeof header_bytes, 0));
    if (header_bytes > FORMAT_HEADER_BYTES)
        return sh_fail(SH_FORMAT,
                       "%s: is not a safetensors file: a header of %" PRIu64
                       " bytes, the format allows %" PRIu64,
                       file->path, header_bytes, FORMAT_HEADER_BYTES);
    if (header_bytes > file->file_bytes - 8)
        return sh_fail(SH_CORRUPT,
                       "%s: is cut short: a header of %" PRIu64 " bytes in a file of %" PRIu64,
                       file->path, header_bytes, file->file_bytes);
    if (header_bytes > SH_SAFETENSORS_HEADER_BYTES)
        return sh_fail(SH_LIMIT,
                       "%s: a header of %" PRIu64 " bytes, at most %" PRIu64
                       " are read: save it again without long metadata",
                       file->path, header_bytes, SH_SAFETENSORS_HEADER_BYTES);
    file->data_offset = 8 + header_bytes;
    const size_t bytes = (size_t)header_bytes, lead = strlen(SH_CHECKSUM_LEAD);
    char *text = malloc(bytes + 1);
    if (text == NULL)
        return sh_fail_memory(bytes + 1, "a safetensors header");
    sh_status status;
    SH_TRY_DONE(read_at(file, text, bytes, 8));
    /* The format requires this, and it detects other kinds of files early. */
    if (bytes == 0 || text[0] != '{')
        SH_TRY_DONE(sh_fail(SH_FORMAT,
                            "%s: is not a safetensors file: its header does not begin with {",
                            file->path));
    SH_TRY_DONE(bound_header(file->path, text, bytes));
    file->header = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (file->header == NULL)
        SH_TRY_DONE(json_error_code(&error) == json_error_out_of_memory
                        ? sh_fail_memory(bytes, "a safetensors header")
                        : sh_fail(SH_FORMAT, "%s: header, at byte %d: %s", file->path,
                                  8 + error.position, show(error.text, shown)));
    file->has_checksum =
        bytes >= lead + SH_CHECKSUM_DIGITS && memcmp(text, SH_CHECKSUM_LEAD, lead) == 0;
done:
    free(text);
    return status;
}

static sh_status open_file(int *fd, const char *path, bool own)
{
    if (own)
        return sh_file_open_own(fd, path, O_RDONLY);
    /* A pipe would wait for its writer. */
    const int fresh = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fresh < 0)
        return sh_fail_errno(errno, "%s: cannot open", path);
    *fd = fresh;
    return SH_OK;
}

static sh_status open_any(sh_safetensors **file, const char *path, bool own, const void *bytes,
                          size_t count)
{
    struct stat about;
    sh_safetensors *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, path);
    sh_status status;
    fresh->fd = -1;
    fresh->bytes = bytes;
    fresh->file_bytes = count;
    fresh->path = strdup(path);
    if (fresh->path == NULL)
        SH_TRY_DONE(sh_fail_memory(strlen(path) + 1, "a path"));
    if (bytes == NULL) {
        SH_TRY_DONE(open_file(&fresh->fd, path, own));
        if (fstat(fresh->fd, &about) != 0)
            SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot open", path));
        if (!S_ISREG(about.st_mode))
            SH_TRY_DONE(sh_fail(SH_INVALID, "%s: is not a file", path));
        fresh->file_bytes = (uint64_t)about.st_size;
    }
    SH_TRY_DONE(load_header(fresh));
    SH_TRY_DONE(load_tensors(fresh));
    *file = fresh;
    return SH_OK;
done:
    sh_safetensors_close(fresh);
    return status;
}

sh_status sh_safetensors_open(sh_safetensors **file, const char *path)
{
    return open_any(file, path, false, NULL, 0);
}

sh_status sh_safetensors_open_own(sh_safetensors **file, const char *path)
{
    return open_any(file, path, true, NULL, 0);
}

sh_status sh_safetensors_open_bytes(sh_safetensors **file, const char *label, const void *bytes,
                                    size_t count)
{
    /* NULL in `bytes` of the struct means a file on disk. */
    return open_any(file, label, false, bytes == NULL ? "" : bytes, count);
}

void sh_safetensors_close(sh_safetensors *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    json_decref(file->header);
    free(file->by_name);
    free(file->entries);
    free(file->path);
    free(file);
}

const char *sh_safetensors_path(const sh_safetensors *file)
{
    return file->path;
}

size_t sh_safetensors_count(const sh_safetensors *file)
{
    return file->count;
}

const char *sh_safetensors_name(const sh_safetensors *file, size_t index)
{
    assert(index < file->count);
    return file->entries[index].name;
}

const char *sh_safetensors_metadata(const sh_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(file->metadata, key));
}

sh_status sh_safetensors_type(sh_type *type, const sh_safetensors *file, size_t index)
{
    assert(index < file->count);
    const entry *tensor = &file->entries[index];
    char shown[SHOWN_BYTES];
    show(tensor->name, shown);
    if (tensor->dtype->ours < 0)
        return sh_fail(SH_UNSUPPORTED,
                       "%s: tensor \"%s\" holds %s, which is not supported: convert it to F32",
                       file->path, shown, tensor->dtype->text);
    sh_type fresh = {.dtype = (sh_dtype)tensor->dtype->ours, .shape = {.rank = tensor->rank}};
    for (size_t i = 0; i < tensor->rank && i < SH_MAX_RANK; i++) {
        fresh.shape.dim[i] = (size_t)tensor->dim[i];
        if (fresh.shape.dim[i] != tensor->dim[i])
            return sh_fail(SH_LIMIT, "%s: tensor \"%s\" is larger than the address space",
                           file->path, shown);
    }
    SH_TRY(sh_fail_in(sh_shape_check(&fresh.shape), "%s: tensor \"%s\"", file->path, shown));
    *type = fresh;
    return SH_OK;
}

sh_status sh_safetensors_find(size_t *index, const sh_safetensors *file, const char *name)
{
    const entry wanted = {.name = name};
    const entry *const key = &wanted;
    entry **found = bsearch(&key, file->by_name, file->count, sizeof(entry *), compare_names);
    char shown[SHOWN_BYTES];
    if (found == NULL)
        return sh_fail(SH_NOT_FOUND, "%s: has no tensor \"%s\"", file->path, show(name, shown));
    *index = (size_t)(*found - file->entries);
    return SH_OK;
}

sh_status sh_safetensors_read(const sh_safetensors *file, size_t index, void *buffer, size_t bytes)
{
    sh_type type;
    SH_TRY(sh_safetensors_type(&type, file, index));
    const entry *tensor = &file->entries[index];
    char shown[SHOWN_BYTES];
    if (bytes != sh_type_bytes(&type))
        return sh_fail(SH_MISMATCH, "%s: tensor \"%s\" has %zu bytes, not %zu", file->path,
                       show(tensor->name, shown), sh_type_bytes(&type), bytes);
    return read_at(file, buffer, bytes, file->data_offset + tensor->begin);
}

sh_status sh_safetensors_load(const sh_safetensors *file, const char *name, const sh_type *type,
                              void *buffer)
{
    size_t index;
    sh_type found;
    SH_TRY(sh_safetensors_find(&index, file, name));
    SH_TRY(sh_safetensors_type(&found, file, index));
    char shown[SHOWN_BYTES], has[SH_SHAPE_TEXT], wants[SH_SHAPE_TEXT];
    if (!sh_type_equal(&found, type))
        return sh_fail(SH_MISMATCH, "%s: tensor \"%s\" is %s %s, the model needs %s %s", file->path,
                       show(name, shown), sh_dtype_text(found.dtype),
                       sh_shape_print(&found.shape, has), sh_dtype_text(type->dtype),
                       sh_shape_print(&type->shape, wants));
    return sh_safetensors_read(file, index, buffer, sh_type_bytes(type));
}

/* `blank`: with the digits of the checksum as zeros. */
static sh_status hash_file(const sh_safetensors *file, bool blank, char hex[SH_DIGEST_TEXT])
{
    sh_digest *digest;
    char fresh[SH_DIGEST_TEXT];
    sh_status status = SH_OK;
    SH_TRY(sh_digest_new(&digest));
    unsigned char *chunk = malloc(CHUNK_BYTES);
    if (chunk == NULL)
        SH_TRY_DONE(sh_fail_memory(CHUNK_BYTES, "a read buffer"));
    for (uint64_t offset = 0; offset < file->file_bytes;) {
        const uint64_t left = file->file_bytes - offset;
        const size_t bytes = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        SH_TRY_DONE(read_at(file, chunk, bytes, offset));
        if (offset == 0 && blank)
            memset(chunk + SH_CHECKSUM_OFFSET, '0', SH_CHECKSUM_DIGITS);
        sh_digest_add(digest, chunk, bytes);
        offset += bytes;
    }
done:
    free(chunk);
    const sh_status finished = sh_digest_finish(digest, fresh);
    SH_TRY(status);
    SH_TRY(finished);
    memcpy(hex, fresh, sizeof fresh);
    return SH_OK;
}

sh_status sh_safetensors_hash(char hex[SH_DIGEST_TEXT], const sh_safetensors *file)
{
    return hash_file(file, false, hex);
}

sh_status sh_safetensors_verify(const sh_safetensors *file)
{
    const char *stated = sh_safetensors_metadata(file, SH_SAFETENSORS_CHECKSUM);
    if (stated == NULL)
        return sh_fail(SH_NOT_FOUND, "%s: has no checksum", file->path);
    if (!file->has_checksum)
        return sh_fail(SH_CORRUPT,
                       "%s: was rewritten by another program: its checksum cannot be "
                       "checked",
                       file->path);
    char hex[SH_DIGEST_TEXT];
    SH_TRY(hash_file(file, true, hex));
    if (strcmp(hex, stated) != 0)
        return sh_fail(SH_CORRUPT, "%s: is damaged: its checksum does not match its content",
                       file->path);
    return SH_OK;
}
