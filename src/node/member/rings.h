/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of a device: of its current view, and of the next view, which is being linked. A "ring"
 * is the set of links of a view, also with servers.
 *
 *     SH_TRY(sh_rings_open(rings, &orders, device));   // accepts links
 *     sh_rings_connect(rings, &orders);                // connects to accepting devices
 *     ... on_linked; the step's thread uses sh_rings_engine(rings, number) ...
 *     sh_rings_abort_idle(rings, &participant);
 *     sh_rings_sweep(rings);                           // the step's thread closes aborted rings
 *
 * Threads: the step's thread, unless "loop only" (net/loop.h) or "any thread".
 */
#ifndef SHOAL_NODE_RINGS_H
#define SHOAL_NODE_RINGS_H

#include "cluster/participant.h"
#include "net/listener.h"
#include "node/protocol/orders.h"
#include "reduce/engine.h"

typedef struct sh_rings sh_rings;

/* Loop only. */
typedef struct sh_rings_events {
    void (*on_linked)(void *context, uint32_t ring);
    /* The link with `peer` broke or could not be made. */
    void (*on_broken)(void *context, uint32_t ring, uint32_t peer);
    void *context;
} sh_rings_events;

sh_status sh_rings_new(sh_rings **rings, sh_loop *loop,
                       const sh_rings_events *events) SHOAL_CHECKED;

/* Sets the listener for links; NULL once it is closed. Borrowed. Loop only. */
void sh_rings_set_listener(sh_rings *rings, sh_listener *listener);

/* Creates a view's ring, once, and accepts the devices that connect to this one. Loop only. */
sh_status sh_rings_open(sh_rings *rings, const sh_orders *orders, uint32_t device) SHOAL_CHECKED;

/* Starts to connect to the devices that accept links by these orders. Loop only. */
void sh_rings_connect(sh_rings *rings, const sh_orders *orders);

/* Takes over the channel of a link; false: the identity is not a link of this device. Loop only. */
bool sh_rings_accept(sh_rings *rings, sh_channel *channel, const char *identity);

/* Aborts the rounds of rings that the participant no longer needs: waits in their engines fail with
 * SH_ABORTED. Returns whether any was aborted. Any thread, under the participant's lock. */
bool sh_rings_abort_idle(sh_rings *rings, const sh_participant *participant);

/* NULL: none, or aborted. */
sh_engine *sh_rings_engine(sh_rings *rings, uint32_t number);

/* Closes aborted rings, whose engines must not be in use. */
void sh_rings_sweep(sh_rings *rings);

/* Whether the step's thread legitimately waits for other devices in a ring. Any thread. */
bool sh_rings_wait(sh_rings *rings);

/* Wakes the step's thread if it waits in a ring; it then continues to wait. Any thread. */
void sh_rings_call(sh_rings *rings);

/* The longest time without progress of a link (sh_engine_ops.stuck_ms), and the device at its other
 * end. Loop only. */
uint32_t sh_rings_stuck_ms(sh_rings *rings, uint32_t *device);

/* Loop only. */
sh_channel_stats sh_rings_stats(sh_rings *rings);

void sh_rings_free(sh_rings *rings);

#endif
