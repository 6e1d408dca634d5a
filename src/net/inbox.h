/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames put together from a stream of bytes that comes in pieces of any size. No sockets: it says
 * where the next bytes belong, and is told how many came.
 *
 *     void *place;
 *     size_t room;
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

#define SH_INBOX_PIECE_BYTES 16384 /* what is added at once: a TLS record at most */

typedef enum sh_inbox_event {
    SH_INBOX_MORE = 0, /* bytes are missing */
    SH_INBOX_ASK,      /* `head` is a raw frame's: sh_inbox_take decides where its body goes */
    SH_INBOX_CONTROL,  /* `control` holds head.bytes bytes of a message */
    SH_INBOX_DONE,     /* the body of a raw frame is in its sink */
} sh_inbox_event;

/* Zeroed it is empty. Read only outside inbox.c. */
typedef struct sh_inbox {
    sh_inbox_event waits; /* what was told last; MORE while bytes are read */
    bool in_body;
    sh_frame head;          /* of the frame under way */
    size_t filled;          /* of the header, or of the body */
    unsigned char *control; /* owned by the inbox: borrowed until sh_inbox_next */
    unsigned char *piece;   /* SH_INBOX_PIECE_BYTES for adding, made at the first use */
    size_t held;            /* bytes of an element that a piece split, at the front of `piece` */
    sh_sink sink;
    unsigned char wire[SH_FRAME_BYTES];
} sh_inbox;

void sh_inbox_release(sh_inbox *inbox);

/* Where the next bytes belong: at least 1, at most SH_INBOX_PIECE_BYTES when adding. SH_NO_MEMORY.
 */
sh_status sh_inbox_place(sh_inbox *inbox, void **place, size_t *room) SHOAL_CHECKED;

/* `bytes` of the room were filled. SH_FORMAT: the header is bad; the stream is of no use then. */
sh_status sh_inbox_filled(sh_inbox *inbox, size_t bytes, sh_inbox_event *event) SHOAL_CHECKED;

/* Answers SH_INBOX_ASK; the sink is copied. SH_FORMAT: the frame does not fit the sink. */
sh_status sh_inbox_take(sh_inbox *inbox, const sh_sink *sink, sh_inbox_event *event) SHOAL_CHECKED;

/* After SH_INBOX_CONTROL or SH_INBOX_DONE. */
void sh_inbox_next(sh_inbox *inbox);

/* Whether the stream may end here: between two frames. */
bool sh_inbox_is_between(const sh_inbox *inbox);

#endif
