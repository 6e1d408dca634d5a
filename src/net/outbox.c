/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames are collected in a scratch buffer of the size of a TLS record. Small frames share a
 * record, and so do the end of a large body, the next header and the start of its body. The middle
 * of a large body is written directly from the caller's buffer. All records but the last are full.
 *
 *     queue:    [head|small body] [head|large body .............................] [head|body ...
 *     written:  <------- scratch, one record -------><- direct -><- direct -><--- scratch --->
 *
 * The queue is a ring of entries with counters. Frames before `popped` are removed, and frames
 * before `written` are written. It grows: in a ring of N devices, N - 1 frames of each span may
 * wait for a late device.
 */
#include "net/outbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/key.h"

#define ROOM_LEAST 16

struct entry {
    sh_frame head;
    const unsigned char *body;
    unsigned char *copy; /* owned, of a control message; or NULL */
};

struct sh_outbox {
    struct entry *ring;               /* owned; NULL at first */
    uint32_t room;                    /* entries: 0 or a power of two, which divides 2^32 */
    uint32_t popped, written, pushed; /* frames in total: popped <= written <= pushed */
    size_t offset;                    /* written bytes of frame `written`, with its header */
    size_t control_bytes;
    size_t scratch_used, scratch_filled;
    size_t direct; /* bytes peeked directly in a body, or 0 */
    unsigned char scratch[SH_OUTBOX_PIECE_BYTES];
};

static struct entry *entry_at(sh_outbox *outbox, uint32_t index)
{
    return &outbox->ring[index % outbox->room];
}

static size_t frame_bytes(const struct entry *entry)
{
    return SH_FRAME_BYTES + (size_t)entry->head.bytes;
}

static void drop_copy(struct entry *entry)
{
    sh_key_free(entry->copy, entry->head.bytes); /* messages may contain keys */
    entry->copy = NULL;
}

sh_status sh_outbox_new(sh_outbox **outbox)
{
    sh_outbox *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a queue of frames");
    *outbox = fresh;
    return SH_OK;
}

void sh_outbox_free(sh_outbox *outbox)
{
    if (outbox == NULL)
        return;
    for (uint32_t i = outbox->popped; i != outbox->pushed; i++)
        drop_copy(entry_at(outbox, i));
    sh_key_wipe(outbox->scratch, sizeof outbox->scratch);
    free(outbox->ring);
    free(outbox);
}

static sh_status push(sh_outbox *outbox, const struct entry *entry)
{
    const uint32_t waiting = outbox->pushed - outbox->popped;
    if (waiting == SH_OUTBOX_FRAMES_MAX)
        return sh_fail(SH_LIMIT, "%d frames wait to be sent: the peer does not read them",
                       SH_OUTBOX_FRAMES_MAX);
    if (waiting == outbox->room) {
        const uint32_t room = outbox->room == 0 ? ROOM_LEAST : 2 * outbox->room;
        struct entry *ring = calloc(room, sizeof *ring);
        if (ring == NULL)
            return sh_fail_memory(room * sizeof *ring, "a queue of frames");
        for (uint32_t i = outbox->popped; i != outbox->pushed; i++)
            ring[i % room] = *entry_at(outbox, i);
        free(outbox->ring);
        outbox->ring = ring;
        outbox->room = room;
    }
    *entry_at(outbox, outbox->pushed++) = *entry;
    return SH_OK;
}

sh_status sh_outbox_push(sh_outbox *outbox, const sh_frame *head, const void *body)
{
    if (head->kind == SH_FRAME_CONTROL)
        return sh_fail(SH_INVALID, "a control message was sent as a raw frame");
    if (sh_frame_check(head) != SH_OK)
        return sh_fail_in(SH_INVALID, "sending a frame");
    return push(outbox, &(struct entry){.head = *head, .body = body});
}

sh_status sh_outbox_push_control(sh_outbox *outbox, const void *message, size_t bytes)
{
    if (bytes > SH_FRAME_CONTROL_MAX)
        return sh_fail(SH_LIMIT, "a control message of %zu bytes: at most %u", bytes,
                       SH_FRAME_CONTROL_MAX);
    if (outbox->control_bytes + bytes > SH_OUTBOX_CONTROL_MAX)
        return sh_fail(SH_LIMIT,
                       "%zu bytes of control messages wait to be sent: the peer does not read them",
                       outbox->control_bytes);
    unsigned char *copy = malloc(bytes + 1);
    if (copy == NULL)
        return sh_fail_memory(bytes, "a control message");
    if (bytes > 0)
        memcpy(copy, message, bytes);
    const sh_status status =
        push(outbox, &(struct entry){.head = {.bytes = (uint32_t)bytes, .kind = SH_FRAME_CONTROL},
                                     .body = copy,
                                     .copy = copy});
    if (status != SH_OK) {
        free(copy);
        return status;
    }
    outbox->control_bytes += bytes;
    return SH_OK;
}

/* Ends when the scratch is full or a body does not fit. */
static void fill_scratch(sh_outbox *outbox)
{
    size_t used = 0, done = outbox->offset;
    for (uint32_t i = outbox->written; i != outbox->pushed; i++, done = 0) {
        const struct entry *entry = entry_at(outbox, i);
        if (done == 0) {
            if (SH_OUTBOX_PIECE_BYTES - used < SH_FRAME_BYTES)
                break;
            sh_frame_encode(outbox->scratch + used, &entry->head);
            used += SH_FRAME_BYTES;
            done = SH_FRAME_BYTES;
        }
        const size_t room = SH_OUTBOX_PIECE_BYTES - used, left = frame_bytes(entry) - done;
        const size_t part = left < room ? left : room;
        if (part > 0)
            memcpy(outbox->scratch + used, entry->body + (done - SH_FRAME_BYTES), part);
        used += part;
        if (part < left)
            break;
    }
    outbox->scratch_used = 0;
    outbox->scratch_filled = used;
}

bool sh_outbox_peek(sh_outbox *outbox, const unsigned char **bytes, size_t *count)
{
    if (outbox->written == outbox->pushed)
        return false;
    const struct entry *entry = entry_at(outbox, outbox->written);
    const size_t left = frame_bytes(entry) - outbox->offset;
    if (outbox->scratch_used == outbox->scratch_filled && outbox->direct == 0) {
        /* Writes the end of a body directly only if no frame follows it. */
        if (outbox->offset > 0 && left >= SH_OUTBOX_PIECE_BYTES)
            outbox->direct = SH_OUTBOX_PIECE_BYTES;
        else if (outbox->offset > 0 && outbox->written + 1 == outbox->pushed)
            outbox->direct = left;
        else
            fill_scratch(outbox);
    }
    const bool direct = outbox->direct > 0;
    *bytes = direct ? entry->body + (outbox->offset - SH_FRAME_BYTES)
                    : outbox->scratch + outbox->scratch_used;
    *count = direct ? outbox->direct : outbox->scratch_filled - outbox->scratch_used;
    return true;
}

void sh_outbox_advance(sh_outbox *outbox, size_t count)
{
    if (outbox->scratch_used < outbox->scratch_filled) {
        assert(count <= outbox->scratch_filled - outbox->scratch_used);
        outbox->scratch_used += count;
    }
    outbox->direct = 0;
    while (count > 0) {
        assert(outbox->written != outbox->pushed);
        struct entry *entry = entry_at(outbox, outbox->written);
        const size_t left = frame_bytes(entry) - outbox->offset;
        if (count < left) {
            outbox->offset += count;
            return;
        }
        count -= left;
        outbox->offset = 0;
        outbox->written++;
        if (entry->copy != NULL)
            outbox->control_bytes -= entry->head.bytes;
        drop_copy(entry);
    }
}

bool sh_outbox_pop_sent(sh_outbox *outbox, sh_frame *head)
{
    while (outbox->popped != outbox->written) {
        const struct entry *entry = entry_at(outbox, outbox->popped++);
        if (entry->head.kind != SH_FRAME_CONTROL) {
            *head = entry->head;
            return true;
        }
    }
    return false;
}

bool sh_outbox_is_empty(const sh_outbox *outbox)
{
    return outbox->written == outbox->pushed;
}
