/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of frames to send, read as a stream of bytes in pieces. The outbox does not use sockets.
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

#define SH_OUTBOX_FRAMES_MAX 65536               /* waiting frames of all kinds */
#define SH_OUTBOX_CONTROL_MAX (4u * 1024 * 1024) /* bytes of copied control messages */
#define SH_OUTBOX_PIECE_BYTES 16384              /* one full TLS record */

typedef struct sh_outbox sh_outbox;

/* Owned: sh_outbox_free. */
sh_status sh_outbox_new(sh_outbox **outbox) SHOAL_CHECKED;
void sh_outbox_free(sh_outbox *outbox);

/*
 * Appends a raw frame. `body` (head->bytes) is borrowed until sh_outbox_pop_sent returns this head.
 * SH_LIMIT: SH_OUTBOX_FRAMES_MAX frames wait. SH_INVALID: the head is not valid for a raw frame.
 * SH_NO_MEMORY.
 */
sh_status sh_outbox_push(sh_outbox *outbox, const sh_frame *head, const void *body) SHOAL_CHECKED;

/* Appends a control frame; the message is copied. SH_LIMIT: too many frames or bytes wait, or the
 * message is too large. SH_NO_MEMORY. */
sh_status sh_outbox_push_control(sh_outbox *outbox, const void *message,
                                 size_t bytes) SHOAL_CHECKED;

/*
 * Returns the next 1 .. SH_OUTBOX_PIECE_BYTES bytes of the stream, borrowed until
 * sh_outbox_advance. Returns false if nothing waits. Repeated calls return the same bytes until
 * sh_outbox_advance, because a retried TLS write must have the same bytes.
 */
bool sh_outbox_peek(sh_outbox *outbox, const unsigned char **bytes, size_t *count);

/* Reports that the first `count` of the peeked bytes were written. */
void sh_outbox_advance(sh_outbox *outbox, size_t count);

/* Removes the next raw frame that was written completely, in order. False: there is none. */
bool sh_outbox_pop_sent(sh_outbox *outbox, sh_frame *head);

/* True if all frames were written. */
bool sh_outbox_is_empty(const sh_outbox *outbox);

#endif
