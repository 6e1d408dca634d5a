/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PKWARE's APPNOTE.TXT defines the archive. NumPy's documentation ("numpy.lib.format") defines the
 * arrays.
 *
 *     local header, name, array | ... | directory: entries with names | end of the directory
 */
#include "store/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"

#define HEAD_BYTES 30
#define ENTRY_BYTES 46
#define END_BYTES 22
#define MEMBERS_MOST 65535
#define ARCHIVE_MOST UINT32_MAX
#define NPY_ALIGNMENT 64
#define NPY_BYTES 512           /* of an array's header, at most */
#define PIECE ((size_t)1 << 30) /* bytes per call of zlib */
#define VERSION 20
#define UTF8 0x800
#define DATE 0x21                       /* 1 January 1980 */
#define MEMBER_MORE (sizeof ".npy" - 1) /* extra bytes of a member's name */

typedef struct archive {
    sh_file_writer *writer;
    uint64_t at;
    uint8_t *directory;
    size_t used, capacity;
} archive;

static uint8_t *put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static sh_status add(archive *a, const void *data, size_t bytes)
{
    a->at += bytes;
    return sh_file_writer_add(a->writer, data, bytes);
}

/* Prints the header of an array, padded to the alignment. */
static size_t print_head(char text[NPY_BYTES], const sh_type *type)
{
    static const char *const descriptions[] = {[SH_F32] = "<f4", [SH_I32] = "<i4", [SH_U8] = "|u1"};
    static const char magic[] = "\x93NUMPY\1";
    size_t used = 10;
    memcpy(text, magic, sizeof magic); /* with the minor version, 0 */
    used += (size_t)snprintf(text + used, NPY_BYTES - used,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (",
                             descriptions[type->dtype]);
    for (size_t i = 0; i < type->shape.rank; i++)
        used += (size_t)snprintf(text + used, NPY_BYTES - used, "%zu,", type->shape.dim[i]);
    used += (size_t)snprintf(text + used, NPY_BYTES - used, "), }");
    while ((used + 1) % NPY_ALIGNMENT != 0)
        text[used++] = ' ';
    text[used++] = '\n';
    put((uint8_t *)text + 8, used - 10, 2);
    return used;
}

static uint32_t add_crc(uLong crc, const void *data, size_t bytes)
{
    for (const Bytef *at = data; bytes > 0;) {
        const size_t piece = bytes < PIECE ? bytes : PIECE;
        crc = crc32(crc, at, (uInt)piece);
        at += piece;
        bytes -= piece;
    }
    return (uint32_t)crc;
}

static uint8_t *put_figures(uint8_t *at, uint32_t crc, uint64_t bytes, size_t name_bytes)
{
    at = put(at, VERSION, 2);
    at = put(at, UTF8, 2);
    at = put(at, 0, 4); /* stored; the time */
    at = put(at, DATE, 2);
    at = put(at, crc, 4);
    at = put(at, bytes, 4);
    at = put(at, bytes, 4);
    at = put(at, name_bytes, 2);
    return put(at, 0, 2);
}

static sh_status add_entry(archive *a, const char *name, uint32_t crc, uint64_t bytes)
{
    const size_t length = strlen(name) + MEMBER_MORE;
    SH_TRY(
        sh_array_grow((void **)&a->directory, &a->capacity, a->used + ENTRY_BYTES + length + 1, 1));
    uint8_t *entry = a->directory + a->used;
    memset(entry, 0, ENTRY_BYTES);
    put(entry, 0x02014b50, 4);
    put(entry + 4, VERSION, 2);
    put_figures(entry + 6, crc, bytes, length);
    put(entry + 42, a->at, 4);
    snprintf((char *)entry + ENTRY_BYTES, length + 1, "%s.npy", name);
    a->used += ENTRY_BYTES + length;
    return SH_OK;
}

static sh_status add_member(archive *a, const sh_stored_tensor *tensor)
{
    char npy[NPY_BYTES];
    uint8_t head[HEAD_BYTES];
    const size_t npy_bytes = print_head(npy, &tensor->type),
                 data_bytes = sh_type_bytes(&tensor->type);
    const size_t name_bytes = strlen(tensor->name) + MEMBER_MORE;
    const uint64_t bytes = npy_bytes + data_bytes;
    const uint64_t end =
        a->at + HEAD_BYTES + name_bytes + bytes + a->used + ENTRY_BYTES + name_bytes + END_BYTES;
    if (name_bytes > UINT16_MAX || end > ARCHIVE_MOST)
        return sh_fail(SH_LIMIT, "an archive of arrays must be under 4 GiB, and its names under 64 "
                                 "KiB: write safetensors");
    const uint32_t crc = add_crc(add_crc(0, npy, npy_bytes), tensor->data, data_bytes);
    SH_TRY(add_entry(a, tensor->name, crc, bytes));
    put_figures(put(head, 0x04034b50, 4), crc, bytes, name_bytes);
    SH_TRY(add(a, head, sizeof head));
    SH_TRY(add(a, a->directory + a->used - name_bytes, name_bytes));
    SH_TRY(add(a, npy, npy_bytes));
    return add(a, tensor->data, data_bytes);
}

static sh_status add_directory(archive *a, size_t members)
{
    uint8_t end[END_BYTES] = {0};
    uint8_t *at = put(put(put(end, 0x06054b50, 4), 0, 4), members, 2);
    put(put(put(at, members, 2), a->used, 4), a->at, 4);
    SH_TRY(add(a, a->directory, a->used));
    return add(a, end, sizeof end);
}

static sh_status write_archive(archive *a, const sh_stored_tensor *tensors, size_t count)
{
    if (count > MEMBERS_MOST)
        return sh_fail(SH_LIMIT, "%zu tensors: an archive has at most %d", count, MEMBERS_MOST);
    for (size_t i = 0; i < count; i++)
        SH_TRY(add_member(a, &tensors[i]));
    return add_directory(a, count);
}

sh_status sh_npz_write(const char *path, const sh_stored_tensor *tensors, size_t count)
{
    archive a = {0};
    SH_TRY(sh_file_writer_open(&a.writer, path));
    const sh_status status = sh_fail_in(write_archive(&a, tensors, count), "%.256s", path);
    free(a.directory);
    if (status == SH_OK)
        return sh_file_writer_commit(a.writer);
    sh_file_writer_discard(a.writer);
    return status;
}
