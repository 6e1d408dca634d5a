/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles frames from a byte stream that arrives in pieces of any size. The inbox returns where
 * to put the next bytes, and the caller reports how many arrived.
 *
 *     SH_TRY(sh_inbox_place(&inbox, &place, &room));
 *     const size_t got = ...;                               // 1 .. room bytes, read into place
 *     SH_TRY(sh_inbox_filled(&inbox, got, &event));
 *     if (event == SH_INBOX_ASK)
 *         SH_TRY(sh_inbox_take(&inbox, &sink, &event));     // a raw frame needs a sink
 *     if (event == SH_INBOX_CONTROL || event == SH_INBOX_DONE)
 *         sh_inbox_next(&inbox);                            // handled: on to the next frame
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NET_INBOX_H
#define SHOAL_NET_INBOX_H

#include <stdbool.h>

#include "net/frame.h"
#include "net/sink.h"

#define SH_INBOX_PIECE_BYTES 16384 /* most bytes added at once; one TLS record */

typedef enum sh_inbox_event {
    SH_INBOX_MORE = 0,
    SH_INBOX_ASK,     /* `head` is a raw frame's: call sh_inbox_take */
    SH_INBOX_CONTROL, /* head.bytes bytes of `control` are a message */
    SH_INBOX_DONE,    /* a raw frame's body is in its sink */
} sh_inbox_event;

/* A zeroed inbox is empty. Only inbox.c writes the fields. */
typedef struct sh_inbox {
    sh_inbox_event waits; /* the last event; MORE while bytes are read */
    bool in_body;
    sh_frame head;
    size_t filled;          /* bytes of the header or of the body */
    unsigned char *control; /* owned by the inbox; callers borrow it until sh_inbox_next */
    unsigned char *piece;   /* SH_INBOX_PIECE_BYTES, for sinks that add */
    size_t held;            /* bytes of an incomplete element, at the front of `piece` */
    sh_sink sink;
    unsigned char wire[SH_FRAME_BYTES];
} sh_inbox;

void sh_inbox_release(sh_inbox *inbox);

/* `*room` is at least 1, and at most SH_INBOX_PIECE_BYTES for a sink that adds. SH_NO_MEMORY. */
sh_status sh_inbox_place(sh_inbox *inbox, void **place, size_t *room) SHOAL_CHECKED;

/* `bytes` bytes are at the place. SH_FORMAT: the header is invalid; the stream cannot be read
 * further. SH_NO_MEMORY. */
sh_status sh_inbox_filled(sh_inbox *inbox, size_t bytes, sh_inbox_event *event) SHOAL_CHECKED;

/* The sink of the body, copied, after SH_INBOX_ASK. SH_FORMAT: the body does not fit it. */
sh_status sh_inbox_take(sh_inbox *inbox, const sh_sink *sink, sh_inbox_event *event) SHOAL_CHECKED;

void sh_inbox_next(sh_inbox *inbox);

/* True between two frames, where the stream may end. */
bool sh_inbox_is_between(const sh_inbox *inbox);

#endif
