/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control messages: packed, and unpacked with limits. The types are made from net/message.proto by
 * protobuf-c; what this adds is that nothing which passes can surprise its reader.
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
 * A message that was unpacked has: the protocol's number, a body; strings that are UTF-8 without
 * control characters, of at most SH_MESSAGE_STRING_MAX bytes and never NULL; finite numbers; at
 * most SH_MESSAGE_MEMBERS_MAX members; keys of 32 bytes or none; padding of at most
 * SH_MESSAGE_PADDING_MAX bytes; a job inside a welcome; no field that this version does not know.
 * There is one encoding of a message, and only it is taken.
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

#define SH_MESSAGE_PROTOCOL 9
#define SH_MESSAGE_STRING_MAX 4096
#define SH_MESSAGE_JOB_MAX 16384             /* of the job in a welcome */
#define SH_MESSAGE_ORIGIN_BYTES SH_KEY_BYTES /* as all bytes in messages */
#define SH_MESSAGE_PADDING_MAX 131072        /* bytes that say nothing, in a probe or an echo */
#define SH_MESSAGE_MEMBERS_MAX 1024
#define SH_MESSAGE_MEMORY_MAX (4u * 1024 * 1024) /* that unpacking may take */

/* A message with a body: SH_MESSAGE_INIT(END, end, &end). Its `job` and `view` are 0. */
#define SH_MESSAGE_INIT(BODY, field, pointer)                                                      \
    {                                                                                              \
        .base = PROTOBUF_C_MESSAGE_INIT(&shoal__message__descriptor),                              \
        .protocol = SH_MESSAGE_PROTOCOL, .body_case = SHOAL__MESSAGE__BODY_##BODY,                 \
        .field = (pointer)                                                                         \
    }

/*
 * `bytes` is owned: free(). A NULL string is an empty one. SH_INVALID: the message would not be
 * taken by sh_message_unpack, with what is wrong. SH_LIMIT: larger than a control frame.
 */
sh_status sh_message_pack(uint8_t **bytes, size_t *count,
                          const Shoal__Message *message) SHOAL_CHECKED;

/* Packs a message, hands it to the channel, and wipes what was packed. The failures are those of
 * sh_message_pack and sh_channel_send_control. */
sh_status sh_message_send(sh_channel *channel, const Shoal__Message *message) SHOAL_CHECKED;

/*
 * `message` is owned: sh_message_free. SH_FORMAT: malformed, or outside the limits. SH_VERSION:
 * another protocol, or a field that is not known here. SH_LIMIT: more memory than allowed.
 */
sh_status sh_message_unpack(Shoal__Message **message, const uint8_t *bytes,
                            size_t count) SHOAL_CHECKED;

/* Wipes keys. NULL is fine. Only for messages from sh_message_unpack. */
void sh_message_free(Shoal__Message *message);

#endif
