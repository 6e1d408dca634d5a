/* SPDX-License-Identifier: Apache-2.0 */
#include "net/sink.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/variant.h"

sh_status sh_sink_check(const sh_sink *sink, size_t bytes)
{
    if (bytes > sink->bytes)
        return sh_fail(SH_FORMAT, "a frame of %zu bytes, expected %zu", bytes, sink->bytes);
    if (sink->adds != 0 && bytes % sink->adds != 0)
        return sh_fail(SH_FORMAT, "a frame of %zu bytes, not a multiple of %zu-byte integers",
                       bytes, sink->adds);
    return SH_OK;
}

/* `base` may be `sums`, but must not overlap it otherwise. */
#define ADDER(name, word, from_wire)                                                               \
    static void name(word *sums, const word *base, const unsigned char *wire, size_t count)        \
    {                                                                                              \
        SH_EACH_ELEMENT (i, count) {                                                               \
            word term;                                                                             \
            memcpy(&term, wire + i * sizeof term, sizeof term);                                    \
            sums[i] = (word)(base[i] + from_wire(term));                                           \
        }                                                                                          \
    }
ADDER(add_8, uint8_t, )
ADDER(add_16, uint16_t, le16toh)
ADDER(add_32, uint32_t, le32toh)
ADDER(add_64, uint64_t, le64toh)

void sh_sink_add(const sh_sink *sink, size_t offset, const unsigned char *wire, size_t bytes)
{
    const size_t element = sink->adds;
    const void *whole = sink->base == NULL ? sink->data : sink->base;
    assert(offset % element == 0 && bytes % element == 0 && offset + bytes <= sink->bytes);
    assert((uintptr_t)sink->data % element == 0 && (uintptr_t)whole % element == 0);
    void *place = (unsigned char *)sink->data + offset;
    const void *base = (const unsigned char *)whole + offset;
    switch (element) {
    case 1:
        add_8(place, base, wire, bytes);
        break;
    case 2:
        add_16(place, base, wire, bytes / element);
        break;
    case 4:
        add_32(place, base, wire, bytes / element);
        break;
    default:
        assert(element == 8);
        add_64(place, base, wire, bytes / element);
        break;
    }
}
