/* SPDX-License-Identifier: Apache-2.0 */
#include "net/frame.h"

#include <endian.h>
#include <string.h>

static void put16(unsigned char *wire, uint16_t value)
{
    value = htole16(value);
    memcpy(wire, &value, sizeof value);
}

static void put32(unsigned char *wire, uint32_t value)
{
    value = htole32(value);
    memcpy(wire, &value, sizeof value);
}

static uint16_t get16(const unsigned char *wire)
{
    uint16_t value;
    memcpy(&value, wire, sizeof value);
    return le16toh(value);
}

static uint32_t get32(const unsigned char *wire)
{
    uint32_t value;
    memcpy(&value, wire, sizeof value);
    return le32toh(value);
}

sh_status sh_frame_check(const sh_frame *head)
{
    if (head->kind < SH_FRAME_CONTROL || head->kind > SH_FRAME_UPDATE)
        return sh_fail(SH_FORMAT, "a frame of unknown kind %u", (unsigned)head->kind);
    const uint32_t most = head->kind == SH_FRAME_CONTROL ? SH_FRAME_CONTROL_MAX : SH_FRAME_RAW_MAX;
    if (head->bytes > most)
        return sh_fail(SH_FORMAT, "a frame of %lu bytes, where kind %u has at most %lu",
                       (unsigned long)head->bytes, (unsigned)head->kind, (unsigned long)most);
    if (head->kind == SH_FRAME_CONTROL &&
        (head->bucket | head->view | head->step | head->hop | head->attempt) != 0)
        return sh_fail(SH_FORMAT, "a control frame with the fields of a raw one");
    return SH_OK;
}

void sh_frame_encode(unsigned char wire[SH_FRAME_BYTES], const sh_frame *head)
{
    put32(wire, head->bytes);
    put16(wire + 4, head->kind);
    put16(wire + 6, head->bucket);
    put32(wire + 8, head->view);
    put32(wire + 12, head->step);
    put16(wire + 16, head->hop);
    put16(wire + 18, head->attempt);
    put32(wire + 20, 0);
}

sh_status sh_frame_decode(sh_frame *head, const unsigned char wire[SH_FRAME_BYTES])
{
    const sh_frame fresh = {
        .bytes = get32(wire),
        .kind = get16(wire + 4),
        .bucket = get16(wire + 6),
        .view = get32(wire + 8),
        .step = get32(wire + 12),
        .hop = get16(wire + 16),
        .attempt = get16(wire + 18),
    };
    if (get32(wire + 20) != 0)
        return sh_fail(SH_FORMAT, "a frame whose reserved bytes are not zero");
    SH_TRY(sh_frame_check(&fresh));
    *head = fresh;
    return SH_OK;
}
