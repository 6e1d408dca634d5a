/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that connect to this one with the token because they look for the coordinator. Each gets
 * an answer. A caller that is a coordinator says so (node/member/discovery.h): it may be back at
 * another address.
 *
 *     sh_callers_answer(&callers, channel, &whereabouts);
 *     ... callers.coordinator.port != 0: a coordinator called from there ...
 *     sh_callers_close(&callers);
 *
 * Zero-initialised.
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_CALLERS_H
#define SHOAL_NODE_CALLERS_H

#include "net/channel.h"
#include "net/message.h"
#include "node/member/endpoints.h"

#define SH_CALLERS_MAX 32 /* the oldest is closed for a new one */

typedef struct sh_callers {
    sh_channel *channels[SH_CALLERS_MAX]; /* NULL: none */
    uint32_t next;
    sh_endpoint coordinator; /* of the last one that called, without proof; port 0: none */
} sh_callers;

/* Sends the answer and takes over the channel. The caller closes it. */
void sh_callers_answer(sh_callers *callers, sh_channel *channel, Shoal__Whereabouts *answer);

void sh_callers_close(sh_callers *callers);

#endif
