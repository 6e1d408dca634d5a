/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device gives of its replica to others while it works on: a sender (train/replica_sender)
 * and a channel for each transfer that it is a donor of.
 *
 *     sh_donations_begin(donations, bench);
 *     sh_donations_follow(donations, &orders, device);        // lets the receivers in
 *     ... sh_donations_span, sh_donations_passed, as stages go on ...
 *     sh_donations_free(donations);
 *
 * Threads: each function says. "Loop only" as in net/loop.h.
 */
#ifndef SHOAL_NODE_DONATIONS_H
#define SHOAL_NODE_DONATIONS_H

#include "net/listener.h"
#include "node/mail/orders.h"
#include "train/replica_sender.h"
#include "train/workbench.h"

typedef struct sh_donations sh_donations;

sh_status sh_donations_new(sh_donations **donations, sh_loop *loop) SHOAL_CHECKED;

/* Where receivers come in; NULL once it is closed. Borrowed. Loop only. */
void sh_donations_set_door(sh_donations *donations, sh_listener *door);

/* Whose replica is given; borrowed until sh_donations_free. Before any orders. */
void sh_donations_begin(sh_donations *donations, const sh_workbench *bench);

/* Opens the door to the receivers of new transfers, and ends those that are over. Loop only. */
void sh_donations_follow(sh_donations *donations, const sh_orders *orders, uint32_t device);

/* Takes the channel of a receiver; false: its identity is none of ours. Loop only. */
bool sh_donations_accept(sh_donations *donations, sh_channel *channel, const char *identity);

/* The total of a round's span, by its number, is complete. Loop only. */
void sh_donations_span(sh_donations *donations, uint32_t index, const sh_span *span);

/* A stage has passed. Any thread, under the replica's lock. */
void sh_donations_passed(sh_donations *donations, const sh_stage_outcome *outcome);

/* A stage was broken off, or the replica's phase was set. Any thread, under the replica's lock. */
void sh_donations_restarted(sh_donations *donations);

/* Bytes on the wire so far. Loop only. */
sh_channel_stats sh_donations_stats(const sh_donations *donations);

/* Ends all; loop only. */
void sh_donations_close(sh_donations *donations);

/* After sh_donations_close. NULL is fine. Any thread. */
void sh_donations_free(sh_donations *donations);

#endif
