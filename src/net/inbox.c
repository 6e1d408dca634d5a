/* SPDX-License-Identifier: Apache-2.0 */
#include "net/inbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "net/key.h"

static void drop_control(sh_inbox *inbox)
{
    sh_key_free(inbox->control, inbox->head.bytes); /* messages may contain keys */
    inbox->control = NULL;
}

void sh_inbox_release(sh_inbox *inbox)
{
    drop_control(inbox);
    free(inbox->piece);
    *inbox = (sh_inbox){.waits = SH_INBOX_MORE};
}

static bool adds(const sh_inbox *inbox)
{
    return inbox->in_body && inbox->head.kind != SH_FRAME_CONTROL && inbox->sink.adds != 0;
}

sh_status sh_inbox_place(sh_inbox *inbox, void **place, size_t *room)
{
    assert(inbox->waits == SH_INBOX_MORE);
    if (!inbox->in_body) {
        *place = inbox->wire + inbox->filled;
        *room = SH_FRAME_BYTES - inbox->filled;
        return SH_OK;
    }
    const size_t left = inbox->head.bytes - inbox->filled;
    if (!adds(inbox)) {
        unsigned char *start =
            inbox->head.kind == SH_FRAME_CONTROL ? inbox->control : inbox->sink.data;
        *place = start + inbox->filled;
        *room = left;
        return SH_OK;
    }
    if (inbox->piece == NULL) {
        inbox->piece = malloc(SH_INBOX_PIECE_BYTES);
        if (inbox->piece == NULL)
            return sh_fail_memory(SH_INBOX_PIECE_BYTES, "adding received data");
    }
    const size_t space = SH_INBOX_PIECE_BYTES - inbox->held;
    *place = inbox->piece + inbox->held;
    *room = left < space ? left : space;
    return SH_OK;
}

sh_status sh_inbox_filled(sh_inbox *inbox, size_t bytes, sh_inbox_event *event)
{
    assert(inbox->waits == SH_INBOX_MORE);
    *event = SH_INBOX_MORE;
    if (!inbox->in_body) {
        inbox->filled += bytes;
        if (inbox->filled < SH_FRAME_BYTES)
            return SH_OK;
        SH_TRY(sh_frame_decode(&inbox->head, inbox->wire));
        inbox->in_body = true;
        inbox->filled = 0;
        if (inbox->head.kind != SH_FRAME_CONTROL) {
            *event = inbox->waits = SH_INBOX_ASK;
            return SH_OK;
        }
        /* sh_frame_decode has checked it against SH_FRAME_CONTROL_MAX. */
        inbox->control = malloc(inbox->head.bytes + 1);
        if (inbox->control == NULL)
            return sh_fail_memory(inbox->head.bytes, "a control message");
        *event = inbox->waits = inbox->head.bytes == 0 ? SH_INBOX_CONTROL : SH_INBOX_MORE;
        return SH_OK;
    }
    if (adds(inbox)) {
        /* `filled` includes the `held` bytes of an incomplete element. */
        const size_t have = inbox->held + bytes;
        const size_t whole = have - have % inbox->sink.adds;
        sh_sink_add(&inbox->sink, inbox->filled - inbox->held, inbox->piece, whole);
        memmove(inbox->piece, inbox->piece + whole, have - whole);
        inbox->held = have - whole;
    }
    inbox->filled += bytes;
    if (inbox->filled == inbox->head.bytes)
        *event = inbox->waits =
            inbox->head.kind == SH_FRAME_CONTROL ? SH_INBOX_CONTROL : SH_INBOX_DONE;
    return SH_OK;
}

sh_status sh_inbox_take(sh_inbox *inbox, const sh_sink *sink, sh_inbox_event *event)
{
    assert(inbox->waits == SH_INBOX_ASK);
    SH_TRY(sh_sink_check(sink, inbox->head.bytes));
    inbox->sink = *sink;
    inbox->held = 0;
    *event = inbox->waits = inbox->head.bytes == 0 ? SH_INBOX_DONE : SH_INBOX_MORE;
    return SH_OK;
}

void sh_inbox_next(sh_inbox *inbox)
{
    assert(inbox->waits == SH_INBOX_CONTROL || inbox->waits == SH_INBOX_DONE);
    drop_control(inbox);
    inbox->in_body = false;
    inbox->filled = 0;
    inbox->waits = SH_INBOX_MORE;
}

bool sh_inbox_is_between(const sh_inbox *inbox)
{
    return !inbox->in_body && inbox->filled == 0;
}
