/* SPDX-License-Identifier: Apache-2.0 */
#include "data/idx.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/extent.h"
#include "data/unpack.h"

#define MAGIC 0x00000800u /* unsigned bytes; the number of dimensions is added */
#define CHUNK 4096        /* labels looked at in one go */

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static const char *kind_name(sh_idx_kind kind)
{
    return kind == SH_IDX_IMAGES ? "images" : "labels";
}

static sh_status check_magic(const uint8_t *bytes, size_t count, sh_idx_kind kind)
{
    if (count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
        return sh_fail(SH_FORMAT, "is gzip'd though its name does not say so; add .gz to its name");
    if (count < 4)
        return sh_fail(
            SH_CORRUPT,
            "is cut off: %zu bytes, the header alone takes %u; copy or download it again", count,
            4 + 4 * (unsigned)kind);
    const uint32_t found = big_endian(bytes), wanted = MAGIC + kind;
    const sh_idx_kind other = kind == SH_IDX_IMAGES ? SH_IDX_LABELS : SH_IDX_IMAGES;
    if (found == MAGIC + other)
        return sh_fail(SH_FORMAT,
                       "holds %s (it begins with 0x%08x) where %s (0x%08x) belong; are the two "
                       "files swapped?",
                       kind_name(other), found, kind_name(kind), wanted);
    if (found != wanted)
        return sh_fail(SH_FORMAT,
                       "is not an IDX file of %s: it begins with 0x%08x, expected 0x%08x; copy or "
                       "download it again",
                       kind_name(kind), found, wanted);
    return SH_OK;
}

static sh_status check_size(const sh_idx_header *h, uint64_t file_bytes, sh_idx_kind kind)
{
    /* At most 2^32 * 2^24: no overflow. */
    const uint64_t expected = h->bytes + (uint64_t)h->count * h->height * h->width;
    char what[96];
    if (kind == SH_IDX_IMAGES)
        snprintf(what, sizeof what, "%u images of %u x %u", h->count, h->height, h->width);
    else
        snprintf(what, sizeof what, "%u labels", h->count);
    if (file_bytes < expected)
        return sh_fail(SH_CORRUPT,
                       "is cut off: %" PRIu64 " bytes, its header promises %" PRIu64
                       " (%s); copy or download it again",
                       file_bytes, expected, what);
    if (file_bytes > expected)
        return sh_fail(SH_CORRUPT,
                       "is too long: %" PRIu64 " bytes, its header promises %" PRIu64
                       " (%s); copy or download it again",
                       file_bytes, expected, what);
    return SH_OK;
}

sh_status sh_idx_parse(sh_idx_header *header, const uint8_t *bytes, size_t count,
                       uint64_t file_bytes, sh_idx_kind kind)
{
    SH_TRY(check_magic(bytes, count, kind));
    sh_idx_header h = {.bytes = 4 + 4 * (uint32_t)kind, .height = 1, .width = 1};
    if (count < h.bytes)
        return sh_fail(
            SH_CORRUPT,
            "is cut off: %zu bytes, the header alone takes %u; copy or download it again", count,
            h.bytes);
    h.count = big_endian(bytes + 4);
    if (kind == SH_IDX_IMAGES) {
        h.height = big_endian(bytes + 8);
        h.width = big_endian(bytes + 12);
    }
    if (h.count == 0)
        return sh_fail(SH_FORMAT, "holds no %s; copy or download it again", kind_name(kind));
    if (h.height == 0 || h.width == 0 || h.height > SH_IDX_SIDE_MOST || h.width > SH_IDX_SIDE_MOST)
        return sh_fail(SH_FORMAT, "holds images of %u x %u pixels; 1 to %d each way can be read",
                       h.height, h.width, SH_IDX_SIDE_MOST);
    SH_TRY(check_size(&h, file_bytes, kind));
    *header = h;
    return SH_OK;
}

static sh_status read_header(sh_idx_header *header, int fd, sh_idx_kind kind)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return sh_fail_errno(errno, "cannot examine it");
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_FORMAT, "is not a regular file");
    uint8_t bytes[SH_IDX_HEADER_MOST];
    size_t got = 0;
    SH_TRY(sh_extent_read(&got, fd, 0, bytes, sizeof bytes));
    return sh_idx_parse(header, bytes, got, (uint64_t)about.st_size, kind);
}

sh_status sh_idx_adopt(sh_idx *idx, int fd, const char *name, sh_idx_kind kind)
{
    sh_idx fresh = {.fd = fd};
    sh_status status = read_header(&fresh.header, fd, kind);
    if (status == SH_OK) {
        fresh.name = strdup(name);
        if (fresh.name == NULL)
            status = sh_fail_memory(strlen(name) + 1, "the name of a data file");
    }
    if (status != SH_OK) {
        close(fd);
        return sh_fail_in(status, "%s", name);
    }
    *idx = fresh;
    return SH_OK;
}

/* Writes path.gz; false where it does not fit. */
static bool packed_path(char packed[PATH_MAX], const char *path)
{
    const int length = snprintf(packed, PATH_MAX, "%s.gz", path);
    return length > 0 && length < PATH_MAX;
}

bool sh_idx_exists(const char *path)
{
    char packed[PATH_MAX];
    return access(path, F_OK) == 0 || (packed_path(packed, path) && access(packed, F_OK) == 0);
}

sh_status sh_idx_open(sh_idx *idx, const char *path, sh_idx_kind kind)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        return sh_idx_adopt(idx, fd, path, kind);
    if (errno != ENOENT)
        return sh_fail_errno(errno, "%s: cannot open it", path);
    char packed[PATH_MAX];
    if (!packed_path(packed, path))
        return sh_fail(SH_INVALID, "%s: the path is too long", path);
    if (access(packed, F_OK) != 0)
        return sh_fail(SH_NOT_FOUND, "%s: there is no such file, neither plain nor .gz", path);
    SH_TRY(sh_unpack_open(&fd, packed, SH_IDX_UNPACKED_MOST));
    return sh_idx_adopt(idx, fd, packed, kind);
}

sh_status sh_idx_read_many(const sh_idx *idx, uint32_t first, uint32_t count, uint8_t *bytes)
{
    const size_t item_bytes = sh_idx_item_bytes(idx), wanted = count * item_bytes;
    const uint64_t offset = idx->header.bytes + (uint64_t)first * item_bytes;
    size_t got = 0;
    sh_status status = sh_extent_read(&got, idx->fd, offset, bytes, wanted);
    if (status == SH_OK && got < wanted)
        status = sh_fail(SH_CORRUPT, "became shorter while it was in use");
    return sh_fail_in(status, "%s: item %u", idx->name, first);
}

sh_status sh_idx_read(const sh_idx *idx, uint32_t index, uint8_t *bytes)
{
    return sh_idx_read_many(idx, index, 1, bytes);
}

bool sh_idx_touch(const sh_idx *idx, uint32_t index)
{
    const size_t item_bytes = sh_idx_item_bytes(idx);
    return sh_extent_touch(idx->fd, idx->header.bytes + (uint64_t)index * item_bytes, item_bytes);
}

sh_status sh_idx_check_pair(uint32_t *most, const sh_idx *images, const sh_idx *labels,
                            uint32_t limit)
{
    const uint32_t count = labels->header.count;
    if (images->header.count != count)
        return sh_fail(SH_MISMATCH,
                       "%s holds %u images, but %s %u labels: they do not belong together; copy or "
                       "download both again",
                       images->name, images->header.count, labels->name, count);
    uint32_t largest = 0;
    for (uint32_t first = 0, chunk = 0; first < count; first += chunk) {
        uint8_t bytes[CHUNK];
        chunk = count - first < CHUNK ? count - first : CHUNK;
        SH_TRY(sh_idx_read_many(labels, first, chunk, bytes));
        for (uint32_t i = 0; i < chunk; i++) {
            if (bytes[i] > limit)
                return sh_fail(SH_FORMAT, "%s: label %u of sample %u is out of range 0 to %u",
                               labels->name, bytes[i], first + i, limit);
            largest = bytes[i] > largest ? bytes[i] : largest;
        }
    }
    *most = largest;
    return SH_OK;
}

void sh_idx_close(sh_idx *idx)
{
    if (idx->name == NULL)
        return;
    close(idx->fd);
    free(idx->name);
    *idx = (sh_idx){0};
}
