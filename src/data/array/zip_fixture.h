/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a zip archive in memory for tests.
 *
 *     zip_begin(&archive);
 *     zip_add(&archive, "x.npy", bytes, count, true);
 *     zip_end(&archive);
 *     scratch_write(path, archive.bytes, archive.count);
 *
 * Threads: one only. Failures fail the test.
 */
#ifndef SHOAL_DATA_ARRAY_ZIP_FIXTURE_H
#define SHOAL_DATA_ARRAY_ZIP_FIXTURE_H

#include <stdbool.h>
#include <zlib.h>

#include "base/test.h"

#define ZIP_BYTES (1u << 20)

typedef struct zip_made {
    uint8_t bytes[ZIP_BYTES], directory[4096];
    size_t count, directory_bytes, directory_at;
    uint16_t members;
} zip_made;

static inline void zip_begin(zip_made *z)
{
    memset(z, 0, sizeof *z);
}

static inline void zip_copy(uint8_t *to, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = ((const uint8_t *)bytes)[i];
}

static inline uint8_t *zip_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

/* The fields that a local header and a directory entry share. */
static inline uint8_t *zip_figures(uint8_t *at, bool deflated, uint32_t crc, size_t packed,
                                   size_t bytes, size_t name_bytes)
{
    at = zip_put(at, 20, 2);
    at = zip_put(at, 0, 2);
    at = zip_put(at, deflated ? 8 : 0, 2);
    at = zip_put(at, 0, 4);
    at = zip_put(at, crc, 4);
    at = zip_put(at, packed, 4);
    at = zip_put(at, bytes, 4);
    return zip_put(at, name_bytes, 2);
}

static inline void zip_add(zip_made *z, const char *name, const void *content, size_t count,
                           bool deflated)
{
    const size_t length = strlen(name), head_at = z->count;
    const uint32_t crc = (uint32_t)crc32(0, content, (uInt)count);
    uint8_t *head = z->bytes + z->count, *body = head + 30 + length;
    size_t packed = count;
    assert_in_range(count + count / 100 + 1000, 0, ZIP_BYTES - z->count);
    if (deflated) {
        z_stream stream = {.next_in = (Bytef *)(uintptr_t)content,
                           .avail_in = (uInt)count,
                           .next_out = body,
                           .avail_out = (uInt)(ZIP_BYTES - z->count - 200)};
        assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, 0), Z_OK);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        packed = stream.total_out;
        deflateEnd(&stream);
    } else {
        memcpy(body, content, count);
    }
    zip_copy(head, "PK\3\4", 4);
    zip_put(zip_figures(head + 4, deflated, crc, packed, count, length), 0, 2);
    zip_copy(head + 30, name, length);
    z->count += 30 + length + packed;
    uint8_t *entry = z->directory + z->directory_bytes;
    zip_copy(entry, "PK\1\2", 4);
    zip_put(entry + 4, 20, 2);
    zip_figures(entry + 6, deflated, crc, packed, count, length);
    zip_put(entry + 42, head_at, 4);
    zip_copy(entry + 46, name, length);
    z->directory_bytes += 46 + length;
    z->members++;
}

static inline void zip_end(zip_made *z)
{
    z->directory_at = z->count;
    memcpy(z->bytes + z->count, z->directory, z->directory_bytes);
    z->count += z->directory_bytes;
    uint8_t *end = z->bytes + z->count;
    zip_copy(end, "PK\5\6", 4);
    uint8_t *at = zip_put(zip_put(zip_put(end + 4, 0, 4), z->members, 2), z->members, 2);
    zip_put(zip_put(at, z->directory_bytes, 4), z->directory_at, 4);
    z->count += 22;
}

#endif
