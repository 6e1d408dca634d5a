/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's part in a job, also for device 0: follows orders (cluster/participant decides what
 * they require), keeps the rings of its views, sends its replica to joining devices, receives it
 * from others, and gives tasks to the step's thread.
 *
 *     const sh_task task = sh_agent_take(agent); // WAIT: ask again after SH_MAIL_TASK
 *     ... work with sh_agent_engine(agent, task.ring) ...
 *     sh_agent_notify(agent, &event);
 *
 * Threads: the step's thread, unless "loop only" (net/loop.h) or "any thread".
 */
#ifndef SHOAL_NODE_AGENT_H
#define SHOAL_NODE_AGENT_H

#include "cluster/participant.h"
#include "net/listener.h"
#include "node/protocol/mailbox.h"
#include "node/protocol/orders.h"
#include "train/session.h"

#define SH_HEARTBEAT_MS 100

typedef struct sh_agent sh_agent;

typedef struct sh_agent_options {
    sh_loop *loop;       /* borrowed until close, like all pointers here */
    sh_mailbox *mailbox; /* receives SH_MAIL_TASK and SH_MAIL_CALL */
    /* A heartbeat changed or is due. Loop only. */
    void (*on_heartbeat)(void *context, const sh_heartbeat *heartbeat);
    void *context;
} sh_agent_options;

sh_status sh_agent_new(sh_agent **agent, const sh_agent_options *options) SHOAL_CHECKED;

/* Sets the listener for other devices; NULL once it is closed. Borrowed. Loop only. */
void sh_agent_set_listener(sh_agent *agent, sh_listener *listener);

/* Takes over the channel of a ring link or a stripe; false: it is neither. Loop only. */
bool sh_agent_accept(sh_agent *agent, sh_channel *channel, const char *identity);

/* Ignores orders older than the last ones. Loop only. */
void sh_agent_follow(sh_agent *agent, const sh_orders *orders);

/* Heartbeats report the activity of the lanes of `session`, even before sh_agent_begin. The session
 * has started and is borrowed until the next call or until close. NULL ends it. */
void sh_agent_watch(sh_agent *agent, const sh_session *session);

/* The device is ready to work with `session` (borrowed until close). `whole`: its replica is
 * complete and stands after its last step; else others must send it. */
void sh_agent_begin(sh_agent *agent, uint32_t device, sh_session *session, bool whole);

/* The task counts as started. */
sh_task sh_agent_take(sh_agent *agent);

/* Like sh_mailbox_wait on the agent's mailbox; also answers SH_MAIL_CALL. A device that does not
 * answer counts as hanging, not as waiting. */
sh_status sh_agent_wait(sh_agent *agent, sh_mail *mail, const sh_stop *stop) SHOAL_CHECKED;

/* Sums over the devices of a ring; its calls fail once the ring is closed. */
sh_engine *sh_agent_engine(sh_agent *agent, uint32_t ring);

/* Reports the result of the task, or that the device wants to leave. */
void sh_agent_notify(sh_agent *agent, const sh_participant_event *event);

/* A stage is complete. Called under the replica's lock. */
void sh_agent_passed(sh_agent *agent, const sh_stage_outcome *outcome);

/* The replica's phase was set without completing a stage. */
void sh_agent_restarted(sh_agent *agent);

/* Whether the replica is complete and belongs to the step's thread. Holds until the caller releases
 * the replica's lock. Any thread. */
bool sh_agent_is_whole(sh_agent *agent);

/* Ends this device's work and stops receiving. Returns whether the replica is complete and stands
 * after its last step. */
bool sh_agent_stop(sh_agent *agent);

/* The coordinator is lost: ends all rounds and transfers, starts no stage, and until sh_agent_stop
 * interrupts the current one. Loop only. */
void sh_agent_abandon(sh_agent *agent);

/* Sends a last heartbeat before this device leaves. Loop only. */
void sh_agent_report(sh_agent *agent);

/* NULL is allowed. */
void sh_agent_close(sh_agent *agent);

#endif
