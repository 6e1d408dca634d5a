/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sink.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/variant.h"

size_t sh_sink_element_bytes(const sh_sink *sink)
{
    switch (sink->mode) {
    case SH_SINK_STORE:
    case SH_SINK_ADD_I8:
        return 1;
    case SH_SINK_ADD_I16:
        return sizeof(uint16_t);
    case SH_SINK_ADD_I32:
        return sizeof(uint32_t);
    case SH_SINK_ADD_U64:
        return sizeof(uint64_t);
    }
    return 1;
}

sh_sink_mode sh_sink_adding(size_t element_bytes)
{
    switch (element_bytes) {
    case 1:
        return SH_SINK_ADD_I8;
    case 2:
        return SH_SINK_ADD_I16;
    case 4:
        return SH_SINK_ADD_I32;
    default:
        assert(element_bytes == 8);
        return SH_SINK_ADD_U64;
    }
}

sh_status sh_sink_check(const sh_sink *sink, size_t bytes)
{
    const size_t element = sh_sink_element_bytes(sink);
    if (bytes > sink->bytes)
        return sh_fail(SH_FORMAT, "a frame of %zu bytes, where %zu were expected", bytes,
                       sink->bytes);
    if (bytes % element != 0)
        return sh_fail(SH_FORMAT,
                       "a frame of %zu bytes, which is no whole number of %zu-byte "
                       "integers",
                       bytes, element);
    return SH_OK;
}

/* `base` may be `sums`, and is nothing else that overlaps it. */
static void add_u8(uint8_t *sums, const uint8_t *base, const unsigned char *wire, size_t count)
{
    SH_EACH_ELEMENT (i, count)
        sums[i] = (uint8_t)(base[i] + wire[i]);
}

static void add_u16(uint16_t *sums, const uint16_t *base, const unsigned char *wire, size_t count)
{
    SH_EACH_ELEMENT (i, count) {
        uint16_t term;
        memcpy(&term, wire + i * sizeof term, sizeof term);
        sums[i] = (uint16_t)(base[i] + le16toh(term));
    }
}

static void add_u32(uint32_t *sums, const uint32_t *base, const unsigned char *wire, size_t count)
{
    SH_EACH_ELEMENT (i, count) {
        uint32_t term;
        memcpy(&term, wire + i * sizeof term, sizeof term);
        sums[i] = base[i] + le32toh(term);
    }
}

static void add_u64(uint64_t *sums, const uint64_t *base, const unsigned char *wire, size_t count)
{
    SH_EACH_ELEMENT (i, count) {
        uint64_t term;
        memcpy(&term, wire + i * sizeof term, sizeof term);
        sums[i] = base[i] + le64toh(term);
    }
}

void sh_sink_add(const sh_sink *sink, size_t offset, const unsigned char *wire, size_t bytes)
{
    const size_t element = sh_sink_element_bytes(sink);
    const void *whole = sink->base == NULL ? sink->data : sink->base;
    assert(offset % element == 0 && bytes % element == 0 && offset + bytes <= sink->bytes);
    assert((uintptr_t)sink->data % element == 0 && (uintptr_t)whole % element == 0);
    void *place = (unsigned char *)sink->data + offset;
    const void *base = (const unsigned char *)whole + offset;
    switch (sink->mode) {
    case SH_SINK_STORE:
        break;
    case SH_SINK_ADD_I8:
        add_u8(place, base, wire, bytes);
        break;
    case SH_SINK_ADD_I16:
        add_u16(place, base, wire, bytes / element);
        break;
    case SH_SINK_ADD_I32:
        add_u32(place, base, wire, bytes / element);
        break;
    case SH_SINK_ADD_U64:
        add_u64(place, base, wire, bytes / element);
        break;
    }
}
