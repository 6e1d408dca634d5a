/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's place in a job, device 0's as well: follows orders (cluster/participant decides what
 * that means), keeps the rings of its views, gives its replica to devices that join and takes it
 * from others, and tells the step's thread what to do next.
 *
 *     SH_TRY(sh_station_new(&station, &options));
 *     sh_station_begin(station, device, bench, true);
 *     const sh_task task = sh_station_take(station); // WAIT: SH_MAIL_TASK says when to ask again
 *     ... work with sh_station_engine(station, task.ring) ...
 *     sh_station_tell(station, &event);              // and take the next one
 *     sh_station_close(station);
 *
 * Threads: "loop only", as in net/loop.h, is said; else the step's thread.
 */
#ifndef SHOAL_NODE_STATION_H
#define SHOAL_NODE_STATION_H

#include "cluster/participant.h"
#include "net/listener.h"
#include "node/mail/mailbox.h"
#include "node/mail/orders.h"
#include "train/workbench.h"

#define SH_HEARTBEAT_MS 100

typedef struct sh_station sh_station;

typedef struct sh_station_options {
    sh_loop *loop;       /* borrowed until close, as all here */
    sh_mailbox *mailbox; /* gets SH_MAIL_TASK and SH_MAIL_CALL */
    /* The standing has changed, or a heartbeat is due. Loop only. */
    void (*on_standing)(void *context, const sh_standing *standing);
    void *context;
} sh_station_options;

sh_status sh_station_new(sh_station **station, const sh_station_options *options) SHOAL_CHECKED;

/* Where devices come in; NULL once it is closed. Borrowed. Loop only. */
void sh_station_set_door(sh_station *station, sh_listener *door);

/* Takes a channel that came in for a ring or a stripe; false: it did not. Loop only. */
bool sh_station_accept(sh_station *station, sh_channel *channel, const char *identity);

/* Orders from the coordinator, newer or not. Loop only. */
void sh_station_follow(sh_station *station, const sh_orders *orders);

/* Until this says otherwise the standing tells what the bench's lanes do, before sh_station_begin
 * too. The bench has started, and is borrowed until then, or until close. NULL: of none. */
void sh_station_watch(sh_station *station, const sh_workbench *bench);

/* The device can work on the job with `bench` (borrowed until close), whose replica is `whole` and
 * stands after its last step, or is to be taken from others. */
void sh_station_begin(sh_station *station, uint32_t device, sh_workbench *bench, bool whole);

/* What to do next; it is under way from now on. */
sh_task sh_station_take(sh_station *station);

/* As sh_mailbox_wait on the station's mailbox, and answers the station's calls meanwhile. A device
 * that does not answer counts as one that hangs, not as one that waits. */
sh_status sh_station_wait(sh_station *station, sh_mail *mail, const sh_stop *stop) SHOAL_CHECKED;

/* What adds up over the devices of a ring; it fails where the ring is gone. */
sh_engine *sh_station_engine(sh_station *station, uint32_t ring);

/* How the task went, or that the device wants to leave. */
void sh_station_tell(sh_station *station, const sh_participant_event *event);

/* A stage has passed, as the trainer says it: under the replica's lock. */
void sh_station_passed(sh_station *station, const sh_stage_outcome *outcome);

/* The replica's phase was set, though no stage has passed. */
void sh_station_restarted(sh_station *station);

/* Whether the replica is whole and the step's thread's, not being taken from others. It stays so
 * until the caller lets go of the replica's lock. Any thread. */
bool sh_station_is_whole(sh_station *station);

/* This device does nothing more: it stops taking from others. Whether the replica is whole and
 * stands after its last step; false: it was being taken. */
bool sh_station_settle(sh_station *station);

/* The coordinator is lost: ends all rounds and transfers; no stage begins any more. Loop only. */
void sh_station_abandon(sh_station *station);

/* Tells the standing once more, before this device goes. Loop only. */
void sh_station_report(sh_station *station);

/* Closes all and frees it. NULL is fine. */
void sh_station_close(sh_station *station);

#endif
