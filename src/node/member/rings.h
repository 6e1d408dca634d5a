/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of a device: that of the view it works in, and the next one's, which is linked
 * meanwhile. "Ring" stands for the links of a view, those of servers too.
 *
 *     SH_TRY(sh_rings_open(rings, &orders, device));   // its door opens
 *     sh_rings_connect(rings, &orders);                // where others' have, we link
 *     ... on_linked; the step's thread uses sh_rings_engine(rings, number) ...
 *     sh_rings_abort_idle(rings, &participant);
 *     sh_rings_sweep(rings);                           // the step's thread closes what was aborted
 *
 * Threads: each function says. "Loop only" as in net/loop.h; else the step's thread.
 */
#ifndef SHOAL_NODE_RINGS_H
#define SHOAL_NODE_RINGS_H

#include "cluster/participant.h"
#include "net/listener.h"
#include "node/mail/orders.h"
#include "reduce/engine.h"

typedef struct sh_rings sh_rings;

/* Loop only. */
typedef struct sh_rings_events {
    void (*on_linked)(void *context, uint32_t ring);
    /* A link broke, or did not come about: with the device `peer`. */
    void (*on_broken)(void *context, uint32_t ring, uint32_t peer);
    void *context;
} sh_rings_events;

sh_status sh_rings_new(sh_rings **rings, sh_loop *loop,
                       const sh_rings_events *events) SHOAL_CHECKED;

/* Where links come in; NULL once it is closed. Borrowed. Loop only. */
void sh_rings_set_door(sh_rings *rings, sh_listener *door);

/* Makes a view's ring, once, and lets in the devices that connect to this one. Loop only. */
sh_status sh_rings_open(sh_rings *rings, const sh_orders *orders, uint32_t device) SHOAL_CHECKED;

/* Begins to connect where these orders say that a door is open. Loop only. */
void sh_rings_connect(sh_rings *rings, const sh_orders *orders);

/* Takes the channel of a link; false: its identity is none of ours. Loop only. */
bool sh_rings_accept(sh_rings *rings, sh_channel *channel, const char *identity);

/* Ends the rounds of the rings that may not stand: the engine's wait fails with SH_ABORTED. Whether
 * there was one. Any thread, with the participant's lock. */
bool sh_rings_abort_idle(sh_rings *rings, const sh_participant *participant);

/* The engine of a ring; NULL: there is none, or it was aborted. */
sh_engine *sh_rings_engine(sh_rings *rings, uint32_t number);

/* Closes the rings that were aborted; none of their engines is in use. */
void sh_rings_sweep(sh_rings *rings);

/* Whether the step's thread waits in one of them for other devices, and may. Any thread. */
bool sh_rings_wait(sh_rings *rings);

/* Wakes the step's thread where it waits in one of them; it goes on waiting. Any thread. */
void sh_rings_call(sh_rings *rings);

/* The link of all of them that stands still the longest (sh_engine_ops.stuck_ms), and the device at
 * its other end. Loop only. */
uint32_t sh_rings_stuck_ms(sh_rings *rings, uint32_t *device);

/* Bytes on the wire of all rings so far. Loop only. */
sh_channel_stats sh_rings_stats(sh_rings *rings);

/* Closes all. NULL is fine. */
void sh_rings_free(sh_rings *rings);

#endif
