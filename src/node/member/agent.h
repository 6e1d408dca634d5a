/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's place in a job, device 0's as well: follows orders (cluster/participant decides what
 * that means), keeps the rings of its views, gives its replica to devices that join and takes it
 * from others, and tells the step's thread what to do next.
 *
 *     SH_TRY(sh_agent_new(&agent, &options));
 *     sh_agent_begin(agent, device, bench, true);
 *     const sh_task task = sh_agent_take(agent); // WAIT: SH_MAIL_TASK says when to ask again
 *     ... work with sh_agent_engine(agent, task.ring) ...
 *     sh_agent_tell(agent, &event);              // and take the next one
 *     sh_agent_close(agent);
 *
 * Threads: "loop only", as in net/loop.h, is said; else the step's thread.
 */
#ifndef SHOAL_NODE_AGENT_H
#define SHOAL_NODE_AGENT_H

#include "cluster/participant.h"
#include "net/listener.h"
#include "node/mail/mailbox.h"
#include "node/mail/orders.h"
#include "train/workbench.h"

#define SH_HEARTBEAT_MS 100

typedef struct sh_agent sh_agent;

typedef struct sh_agent_options {
    sh_loop *loop;       /* borrowed until close, as all here */
    sh_mailbox *mailbox; /* gets SH_MAIL_TASK and SH_MAIL_CALL */
    /* The heartbeat has changed, or a heartbeat is due. Loop only. */
    void (*on_heartbeat)(void *context, const sh_heartbeat *heartbeat);
    void *context;
} sh_agent_options;

sh_status sh_agent_new(sh_agent **agent, const sh_agent_options *options) SHOAL_CHECKED;

/* Where devices come in; NULL once it is closed. Borrowed. Loop only. */
void sh_agent_set_door(sh_agent *agent, sh_listener *door);

/* Takes a channel that came in for a ring or a stripe; false: it did not. Loop only. */
bool sh_agent_accept(sh_agent *agent, sh_channel *channel, const char *identity);

/* Orders from the coordinator, newer or not. Loop only. */
void sh_agent_follow(sh_agent *agent, const sh_orders *orders);

/* Until this says otherwise the heartbeat tells what the bench's lanes do, before sh_agent_begin
 * too. The bench has started, and is borrowed until then, or until close. NULL: of none. */
void sh_agent_watch(sh_agent *agent, const sh_workbench *bench);

/* The device can work on the job with `bench` (borrowed until close), whose replica is `whole` and
 * stands after its last step, or is to be taken from others. */
void sh_agent_begin(sh_agent *agent, uint32_t device, sh_workbench *bench, bool whole);

/* What to do next; it is under way from now on. */
sh_task sh_agent_take(sh_agent *agent);

/* As sh_mailbox_wait on the agent's mailbox, and answers the agent's calls meanwhile. A device
 * that does not answer counts as one that hangs, not as one that waits. */
sh_status sh_agent_wait(sh_agent *agent, sh_mail *mail, const sh_stop *stop) SHOAL_CHECKED;

/* What adds up over the devices of a ring; it fails where the ring is gone. */
sh_engine *sh_agent_engine(sh_agent *agent, uint32_t ring);

/* How the task went, or that the device wants to leave. */
void sh_agent_tell(sh_agent *agent, const sh_participant_event *event);

/* A stage has passed, as the trainer says it: under the replica's lock. */
void sh_agent_passed(sh_agent *agent, const sh_stage_outcome *outcome);

/* The replica's phase was set, though no stage has passed. */
void sh_agent_restarted(sh_agent *agent);

/* Whether the replica is whole and the step's thread's, not being taken from others. It stays so
 * until the caller lets go of the replica's lock. Any thread. */
bool sh_agent_is_whole(sh_agent *agent);

/* This device does nothing more: it stops taking from others. Whether the replica is whole and
 * stands after its last step; false: it was being taken. */
bool sh_agent_settle(sh_agent *agent);

/* The coordinator is lost: ends all rounds and transfers; no stage begins any more. Loop only. */
void sh_agent_abandon(sh_agent *agent);

/* Tells the heartbeat once more, before this device goes. Loop only. */
void sh_agent_report(sh_agent *agent);

/* Closes all and frees it. NULL is fine. */
void sh_agent_close(sh_agent *agent);

#endif
