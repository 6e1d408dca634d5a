/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that wait to be written, as a stream of bytes to be taken in pieces. No sockets.
 *
 *     SH_TRY(sh_outbox_push(&outbox, &head, body));
 *     while (sh_outbox_peek(&outbox, &bytes, &count))
 *         sh_outbox_advance(&outbox, write_some(bytes, count));
 *     while (sh_outbox_pop_sent(&outbox, &head))
 *         ...                                       // head's body belongs to the caller again
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NET_OUTBOX_H
#define SHOAL_NET_OUTBOX_H

#include <stdbool.h>

#include "net/frame.h"

#define SH_OUTBOX_FRAMES_MAX 65536               /* frames that wait, of all kinds */
#define SH_OUTBOX_CONTROL_MAX (4u * 1024 * 1024) /* bytes of copied control messages */
#define SH_OUTBOX_PIECE_BYTES 16384              /* a TLS record at most */

typedef struct sh_outbox sh_outbox;

/* Owned: sh_outbox_free. */
sh_status sh_outbox_new(sh_outbox **outbox) SHOAL_CHECKED;
void sh_outbox_free(sh_outbox *outbox);

/*
 * Appends a raw frame; `body` (head->bytes) is borrowed until sh_outbox_pop_sent gives the head.
 * SH_LIMIT: too many wait. SH_INVALID: the head is no raw frame's.
 */
sh_status sh_outbox_push(sh_outbox *outbox, const sh_frame *head, const void *body) SHOAL_CHECKED;

/* Appends a control frame; the message is copied. SH_LIMIT: too much waits, or it is too large. */
sh_status sh_outbox_push_control(sh_outbox *outbox, const void *message,
                                 size_t bytes) SHOAL_CHECKED;

/*
 * The next bytes of the stream, 1 .. SH_OUTBOX_PIECE_BYTES, borrowed until sh_outbox_advance;
 * false: none. Until then it gives the same again, because a TLS write that is tried again demands
 * that.
 */
bool sh_outbox_peek(sh_outbox *outbox, const unsigned char **bytes, size_t *count);

/* `count` of the bytes peeked at were written. */
void sh_outbox_advance(sh_outbox *outbox, size_t count);

/* The next raw frame that was written to its end, in order; false: none. */
bool sh_outbox_pop_sent(sh_outbox *outbox, sh_frame *head);

/* Whether nothing waits to be written. */
bool sh_outbox_is_empty(const sh_outbox *outbox);

#endif
