/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of an archive:
 *
 *     members        each a local header of 30 bytes, its name, an extra field, its bytes
 *     directory      an entry of 46 bytes for each member, its name, an extra field, a comment
 *     end record     22 bytes and a comment: number of entries, offset of the directory
 *
 * Sizes are from the directory only, since a local header may lack them.
 */
#include "data/array/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cache.h"
#include "data/extent.h"

#define END_BYTES 22
#define COMMENT_MOST 65535u
#define ENTRY_BYTES 46
#define HEAD_BYTES 30
#define DIRECTORY_MOST (1u << 24) /* bytes */
#define RATIO_MOST 1032           /* the highest ratio of deflate: 258 bytes from 2 bits */
#define BUFFER_BYTES 65536u
#define NEEDS_ZIP64 UINT32_MAX

static uint32_t read16(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t read32(const uint8_t *at)
{
    return read16(at) | read16(at + 2) << 16;
}

static sh_status refuse(const char *what)
{
    return sh_fail(SH_CORRUPT, "is a damaged archive: %s; save or copy it again", what);
}

typedef struct directory {
    uint64_t at, bytes;
    uint32_t entries;
} directory;

static sh_status read_end(directory *d, const uint8_t *end, uint64_t end_at)
{
    d->entries = read16(end + 10);
    d->bytes = read32(end + 12);
    d->at = read32(end + 16);
    if (d->at == NEEDS_ZIP64 || d->bytes == NEEDS_ZIP64 || d->entries == UINT16_MAX)
        return sh_fail(SH_UNSUPPORTED, "is an archive of 4 GB or more; save its arrays as .npy "
                                       "files in a folder instead");
    if (read16(end + 4) != 0 || read16(end + 6) != 0 || read16(end + 8) != d->entries)
        return sh_fail(SH_UNSUPPORTED, "is a part of a divided archive; save it again");
    if (d->bytes > end_at || d->at > end_at - d->bytes)
        return refuse("its directory is outside the file");
    if (d->bytes > DIRECTORY_MOST)
        return sh_fail(SH_LIMIT, "has a directory of %" PRIu64 " bytes; at most %u are read",
                       d->bytes, DIRECTORY_MOST);
    return SH_OK;
}

/* Searches backwards: the end record's comment must reach exactly to the end of the file. */
static sh_status find_directory(directory *d, int fd, uint64_t file_bytes)
{
    uint8_t first[4] = {0};
    const uint64_t most = END_BYTES + COMMENT_MOST;
    const size_t count = (size_t)(file_bytes < most ? file_bytes : most);
    const uint64_t from = file_bytes - count;
    if (file_bytes >= sizeof first)
        SH_TRY(sh_extent_read_all(fd, 0, first, sizeof first));
    if (memcmp(first, "PK\3\4", 4) != 0 && memcmp(first, "PK\5\6", 4) != 0)
        return sh_fail(
            SH_FORMAT,
            "is not an .npz archive: it does not begin with PK; save it with numpy.savez");
    uint8_t *tail = malloc(count);
    if (tail == NULL)
        return sh_fail_memory(count, "the end of an archive");
    sh_status status = SH_OK;
    SH_TRY_DONE(sh_extent_read_all(fd, from, tail, count));
    size_t at = count < END_BYTES ? 0 : count - END_BYTES + 1;
    while (at > 0) {
        const uint8_t *end = tail + --at;
        if (memcmp(end, "PK\5\6", 4) == 0 && at + END_BYTES + read16(end + 20) == count) {
            status = read_end(d, end, from + at);
            goto done;
        }
    }
    status = refuse("it is cut off before its directory");
done:
    free(tail);
    return status;
}

static sh_status read_entry(sh_zip_member *member, const uint8_t *entry, uint64_t directory_at)
{
    const uint32_t flags = read16(entry + 8), method = read16(entry + 10);
    const sh_zip_member fresh = {.head_at = read32(entry + 42),
                                 .packed_bytes = read32(entry + 20),
                                 .bytes = read32(entry + 24),
                                 .crc = read32(entry + 16),
                                 .deflated = method == 8};
    if ((flags & 1) != 0)
        return sh_fail(SH_UNSUPPORTED, "is encrypted; save it with numpy.savez");
    if (method != 0 && method != 8)
        return sh_fail(SH_UNSUPPORTED,
                       "is packed by method %u; save it with numpy.savez or savez_compressed",
                       method);
    if (fresh.head_at == NEEDS_ZIP64 || fresh.packed_bytes == NEEDS_ZIP64 ||
        fresh.bytes == NEEDS_ZIP64)
        return sh_fail(SH_UNSUPPORTED, "has an array of 4 GB or more; save its arrays as .npy "
                                       "files in a folder instead");
    if (fresh.head_at > directory_at || fresh.packed_bytes > directory_at - fresh.head_at)
        return refuse("a member is outside the file");
    if (fresh.deflated ? fresh.bytes / RATIO_MOST > fresh.packed_bytes
                       : fresh.bytes != fresh.packed_bytes)
        return refuse("the size of a member cannot be");
    *member = fresh;
    return SH_OK;
}

sh_status sh_zip_find(sh_zip_member *member, int fd, uint64_t file_bytes, const char *name)
{
    directory d = {0};
    const size_t length = strlen(name);
    SH_TRY(find_directory(&d, fd, file_bytes));
    uint8_t *bytes = malloc(d.bytes > 0 ? (size_t)d.bytes : 1);
    if (bytes == NULL)
        return sh_fail_memory((size_t)d.bytes, "the directory of an archive");
    sh_status status = SH_OK;
    size_t at = 0;
    SH_TRY_DONE(sh_extent_read_all(fd, d.at, bytes, (size_t)d.bytes));
    for (uint32_t i = 0; i < d.entries; i++) {
        const uint8_t *entry = bytes + at;
        const size_t left = (size_t)d.bytes - at;
        if (left < ENTRY_BYTES || memcmp(entry, "PK\1\2", 4) != 0)
            SH_TRY_DONE(refuse("its directory ends early"));
        const size_t name_bytes = read16(entry + 28);
        const size_t entry_bytes =
            ENTRY_BYTES + name_bytes + read16(entry + 30) + read16(entry + 32);
        if (left < entry_bytes)
            SH_TRY_DONE(refuse("its directory ends early"));
        if (name_bytes == length && memcmp(entry + ENTRY_BYTES, name, length) == 0) {
            status = read_entry(member, entry, d.at);
            goto done;
        }
        at += entry_bytes;
    }
    status = sh_fail(SH_NOT_FOUND, "has no member %s", name);
done:
    free(bytes);
    return status;
}

/* --- members --- */

typedef struct inflater {
    z_stream stream;
    uint64_t read_bytes, written_bytes;
    uint8_t in[BUFFER_BYTES], out[BUFFER_BYTES];
} inflater;

/* The member's bytes begin at `at` of `fd` and are unpacked into `to`. */
static sh_status unpack(inflater *z, int to, int fd, uint64_t at, const sh_zip_member *member)
{
    uLong crc = crc32(0, NULL, 0);
    for (int code = Z_OK; code != Z_STREAM_END;) {
        const uint64_t left = member->packed_bytes - z->read_bytes;
        if (z->stream.avail_in == 0 && left > 0) {
            const size_t count = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
            SH_TRY(sh_extent_read_all(fd, at + z->read_bytes, z->in, count));
            z->read_bytes += count;
            z->stream.next_in = z->in;
            z->stream.avail_in = (uInt)count;
        }
        z->stream.next_out = z->out;
        z->stream.avail_out = BUFFER_BYTES;
        code = inflate(&z->stream, Z_NO_FLUSH);
        const uInt fresh = BUFFER_BYTES - z->stream.avail_out;
        if (code == Z_MEM_ERROR)
            return sh_fail(SH_NO_MEMORY, "not enough memory to unpack it");
        if ((code != Z_OK && code != Z_STREAM_END) ||
            fresh > member->bytes - z->written_bytes) /* also true if deflate's end comes early */
            return refuse("a member cannot be unpacked");
        crc = crc32(crc, z->out, fresh);
        SH_TRY(sh_fail_in(sh_extent_write(to, z->written_bytes, z->out, fresh),
                          "unpacking it to the temporary folder"));
        z->written_bytes += fresh;
    }
    if (z->written_bytes != member->bytes || crc != member->crc)
        return refuse("a member is not what was packed");
    return SH_OK;
}

static sh_status open_deflated(int *inner, int fd, uint64_t at, const sh_zip_member *member)
{
    int fresh = -1;
    const char *folder;
    sh_status status = SH_OK;
    inflater *z = calloc(1, sizeof *z);
    if (z == NULL)
        return sh_fail_memory(sizeof *z, "unpacking");
    if (inflateInit2(&z->stream, -MAX_WBITS) != Z_OK) { /* raw deflate */
        free(z);
        return sh_fail_memory(sizeof *z, "unpacking");
    }
    SH_TRY_DONE(sh_cache_unnamed(&fresh, &folder, "an unpacked array"));
    SH_TRY_DONE(unpack(z, fresh, fd, at, member));
    *inner = fresh;
done:
    if (status != SH_OK && fresh >= 0)
        close(fresh);
    inflateEnd(&z->stream);
    free(z);
    return status;
}

sh_status sh_zip_open(int *inner, uint64_t *at, int fd, uint64_t file_bytes,
                      const sh_zip_member *member)
{
    uint8_t head[HEAD_BYTES];
    if (file_bytes < HEAD_BYTES || member->head_at > file_bytes - HEAD_BYTES)
        return refuse("a member is outside the file");
    SH_TRY(sh_extent_read_all(fd, member->head_at, head, sizeof head));
    if (memcmp(head, "PK\3\4", 4) != 0)
        return refuse("a member is not where its directory says");
    const uint64_t begins = member->head_at + HEAD_BYTES + read16(head + 26) + read16(head + 28);
    if (begins > file_bytes || member->packed_bytes > file_bytes - begins)
        return refuse("a member is outside the file");
    if (member->deflated) {
        SH_TRY(open_deflated(inner, fd, begins, member));
        *at = 0;
        return SH_OK;
    }
    const int fresh = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fresh < 0)
        return sh_fail_errno(errno, "cannot open a member");
    *inner = fresh;
    *at = begins;
    return SH_OK;
}
