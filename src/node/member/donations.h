/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends this device's replica to others while it works: a sender (train/replica_sender) and a
 * channel for each transfer of which it is a donor.
 *
 *     sh_donations_begin(donations, session);
 *     sh_donations_follow(donations, &orders, device);        // accepts the receivers
 *     ... sh_donations_span, sh_donations_passed, during stages ...
 *     sh_donations_free(donations);
 *
 * Threads: see each function; "loop only" as in net/loop.h.
 */
#ifndef SHOAL_NODE_DONATIONS_H
#define SHOAL_NODE_DONATIONS_H

#include "net/listener.h"
#include "node/protocol/orders.h"
#include "train/replica_sender.h"
#include "train/session.h"

typedef struct sh_donations sh_donations;

sh_status sh_donations_new(sh_donations **donations, sh_loop *loop) SHOAL_CHECKED;

/* Sets the listener for receivers; NULL once it is closed. Borrowed. Loop only. */
void sh_donations_set_listener(sh_donations *donations, sh_listener *listener);

/* Sets the session whose replica is sent; borrowed until sh_donations_free. Before any orders. */
void sh_donations_begin(sh_donations *donations, const sh_session *session);

/* Accepts the receivers of new transfers and ends the transfers that are over. Loop only. */
void sh_donations_follow(sh_donations *donations, const sh_orders *orders, uint32_t device);

/* Takes over the channel of a receiver; false: the identity is not a stripe of this device. Loop
 * only. */
bool sh_donations_accept(sh_donations *donations, sh_channel *channel, const char *identity);

/* The sum of the round's span `index` is complete. Loop only. */
void sh_donations_span(sh_donations *donations, uint32_t index, const sh_span *span);

/* A stage is complete. Any thread, under the replica's lock. */
void sh_donations_passed(sh_donations *donations, const sh_stage_outcome *outcome);

/* A stage was aborted, or the replica's phase was set. Any thread, under the replica's lock. */
void sh_donations_restarted(sh_donations *donations);

/* Loop only. */
sh_channel_stats sh_donations_stats(const sh_donations *donations);

/* Ends all transfers. Loop only. */
void sh_donations_close(sh_donations *donations);

/* After sh_donations_close. Any thread. */
void sh_donations_free(sh_donations *donations);

#endif
