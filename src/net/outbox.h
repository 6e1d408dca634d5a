/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of frames to send, read as a stream of bytes in pieces.
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

#define SH_OUTBOX_FRAMES_MAX 65536               /* of all kinds */
#define SH_OUTBOX_CONTROL_MAX (4u * 1024 * 1024) /* bytes of copied control messages */
#define SH_OUTBOX_PIECE_BYTES 16384              /* a full TLS record */

typedef struct sh_outbox sh_outbox;

/* Owned: sh_outbox_free. */
sh_status sh_outbox_new(sh_outbox **outbox) SHOAL_CHECKED;
void sh_outbox_free(sh_outbox *outbox);

/* Appends a raw frame. `body` (head->bytes) is borrowed until sh_outbox_pop_sent returns this head.
 * SH_LIMIT: SH_OUTBOX_FRAMES_MAX frames wait. SH_INVALID: a malformed head. SH_NO_MEMORY. */
sh_status sh_outbox_push(sh_outbox *outbox, const sh_frame *head, const void *body) SHOAL_CHECKED;

/* Copies the message. SH_LIMIT: too many frames or bytes wait, or it is too large. SH_NO_MEMORY. */
sh_status sh_outbox_push_control(sh_outbox *outbox, const void *message,
                                 size_t bytes) SHOAL_CHECKED;

/* 1 .. SH_OUTBOX_PIECE_BYTES bytes, borrowed until sh_outbox_advance; false: nothing waits. Until
 * then the bytes stay the same, because a retried TLS write needs them. */
bool sh_outbox_peek(sh_outbox *outbox, const unsigned char **bytes, size_t *count);

/* The first `count` of the peeked bytes were written. */
void sh_outbox_advance(sh_outbox *outbox, size_t count);

/* Removes the next raw frame that was written completely. False: there is none. */
bool sh_outbox_pop_sent(sh_outbox *outbox, sh_frame *head);

bool sh_outbox_is_empty(const sh_outbox *outbox);

#endif
