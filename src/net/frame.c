/* SPDX-License-Identifier: Apache-2.0 */
#include "net/frame.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

/* The wire format, little-endian. */
typedef struct wire_frame {
    uint32_t bytes;
    uint16_t kind, bucket;
    uint32_t view, step;
    uint16_t hop, attempt;
    uint32_t reserved;
} wire_frame;
static_assert(sizeof(wire_frame) == SH_FRAME_BYTES, "a header has no padding");

sh_status sh_frame_check(const sh_frame *head)
{
    if (head->kind < SH_FRAME_CONTROL || head->kind > SH_FRAME_NETWORK)
        return sh_fail(SH_FORMAT, "a frame of unknown kind %u", (unsigned)head->kind);
    const uint32_t most = head->kind == SH_FRAME_CONTROL ? SH_FRAME_CONTROL_MAX : SH_FRAME_RAW_MAX;
    if (head->bytes > most)
        return sh_fail(SH_FORMAT, "a frame of %lu bytes; kind %u has at most %lu",
                       (unsigned long)head->bytes, (unsigned)head->kind, (unsigned long)most);
    if (head->kind == SH_FRAME_CONTROL &&
        (head->bucket | head->view | head->step | head->hop | head->attempt) != 0)
        return sh_fail(SH_FORMAT, "a control frame with the fields of a raw one");
    return SH_OK;
}

void sh_frame_encode(unsigned char wire[SH_FRAME_BYTES], const sh_frame *head)
{
    const wire_frame fields = {
        .bytes = htole32(head->bytes),
        .kind = htole16(head->kind),
        .bucket = htole16(head->bucket),
        .view = htole32(head->view),
        .step = htole32(head->step),
        .hop = htole16(head->hop),
        .attempt = htole16(head->attempt),
    };
    memcpy(wire, &fields, sizeof fields);
}

sh_status sh_frame_decode(sh_frame *head, const unsigned char wire[SH_FRAME_BYTES])
{
    wire_frame fields;
    memcpy(&fields, wire, sizeof fields);
    const sh_frame fresh = {
        .bytes = le32toh(fields.bytes),
        .kind = le16toh(fields.kind),
        .bucket = le16toh(fields.bucket),
        .view = le32toh(fields.view),
        .step = le32toh(fields.step),
        .hop = le16toh(fields.hop),
        .attempt = le16toh(fields.attempt),
    };
    if (fields.reserved != 0)
        return sh_fail(SH_FORMAT, "a frame with nonzero reserved bytes");
    SH_TRY(sh_frame_check(&fresh));
    *head = fresh;
    return SH_OK;
}
