/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs control messages, and unpacks them with limits. protobuf-c generates the types from
 * net/message.proto.
 *
 * An unpacked message has:
 *
 * - the protocol number SH_MESSAGE_PROTOCOL, and a body;
 * - strings that are not NULL, in UTF-8 without control characters, of at most
 *   SH_MESSAGE_STRING_MAX bytes (a job: SH_MESSAGE_JOB_MAX);
 * - finite numbers, and repeated fields of at most SH_MESSAGE_MEMBERS_MAX members;
 * - byte fields of 0 or 32 bytes, except padding of at most SH_MESSAGE_PADDING_MAX bytes;
 * - a nonempty job in a welcome;
 * - no unknown field, and the canonical encoding.
 *
 *     Shoal__Hello hello = SHOAL__HELLO__INIT;
 *     Shoal__Message message = SH_MESSAGE_INIT(HELLO, hello, &hello);
 *     SH_TRY(sh_message_send(channel, &message));
 *     ...
 *     SH_TRY(sh_message_unpack(&received, bytes, count));
 *     if (received->body_case == SHOAL__MESSAGE__BODY_WELCOME)
 *         prepare(received->welcome);
 *     sh_message_free(received);
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_MESSAGE_H
#define SHOAL_NET_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "net/channel.h"
#include "net/message.pb-c.h"

#define SH_MESSAGE_PROTOCOL 10
#define SH_MESSAGE_STRING_MAX 4096
#define SH_MESSAGE_JOB_MAX 16384             /* of the job in a welcome */
#define SH_MESSAGE_ORIGIN_BYTES SH_KEY_BYTES /* as all byte fields except padding */
#define SH_MESSAGE_PADDING_MAX 131072        /* in a probe or an echo */
#define SH_MESSAGE_MEMBERS_MAX 1024
#define SH_MESSAGE_MEMORY_MAX (4u * 1024 * 1024) /* bytes that unpacking may allocate */

/* Initialises a message with a body: SH_MESSAGE_INIT(END, end, &end). `job` and `view` are 0. */
#define SH_MESSAGE_INIT(BODY, field, pointer)                                                      \
    {                                                                                              \
        .base = PROTOBUF_C_MESSAGE_INIT(&shoal__message__descriptor),                              \
        .protocol = SH_MESSAGE_PROTOCOL, .body_case = SHOAL__MESSAGE__BODY_##BODY,                 \
        .field = (pointer)                                                                         \
    }

/* `*bytes` is owned: free(). A NULL string is packed as an empty one. SH_INVALID: sh_message_unpack
 * would not accept the message. SH_LIMIT: it is larger than a control frame. */
sh_status sh_message_pack(uint8_t **bytes, size_t *count,
                          const Shoal__Message *message) SHOAL_CHECKED;

/* Packs and queues a message, and wipes the packed bytes. Fails like sh_message_pack and
 * sh_channel_send_control. */
sh_status sh_message_send(sh_channel *channel, const Shoal__Message *message) SHOAL_CHECKED;

/* `*message` is owned: sh_message_free. SH_FORMAT: malformed, or beyond a limit. SH_VERSION:
 * another protocol, or an unknown field. SH_LIMIT: it needs more than SH_MESSAGE_MEMORY_MAX. */
sh_status sh_message_unpack(Shoal__Message **message, const uint8_t *bytes,
                            size_t count) SHOAL_CHECKED;

/* Wipes the keys in an unpacked message and frees it. NULL is fine. */
void sh_message_free(Shoal__Message *message);

#endif
