/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads share the participant, under `lock`. A thread that brings an event posts `look` to
 * the loop if work may be due there. Mail notifies the step's thread, once for any number of
 * events.
 */
#include "node/member/agent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/member/donations.h"
#include "node/member/replica_fetch.h"
#include "node/member/rings.h"

struct sh_agent {
    sh_agent_options options;
    uint32_t device;
    sh_session *session; /* NULL before it is prepared */
    sh_rings *rings;

    /* For the loop's thread only. */
    sh_timer *heartbeat;
    sh_donations *donations;
    sh_replica_fetch *fetch;
    uint64_t taken; /* the transfer of the fetch */
    sh_orders orders;
    uint32_t opened; /* the newest ring that accepts links */
    uint64_t sent;   /* serial of the last notice sent */
    uint64_t beats;
    sh_channel_stats closed;
    bool settled; /* no more fetches and interruptions */

    pthread_mutex_t lock; /* guards all below */
    sh_participant participant;
    sh_trainer_work work, before; /* since this agent began; the trainer's figures then */
    sh_speed told;                /* in the last notice sent */
    const sh_lanes *lanes;
    bool waiting; /* the step's thread waits and was not notified */
    bool called;  /* it was called and has not answered */
    bool looking; /* `look` is posted */
    bool closing;
};

static void look_soon(sh_agent *agent);

static void handle(sh_agent *agent, const sh_participant_event *event)
{
    pthread_mutex_lock(&agent->lock);
    sh_participant_handle(&agent->participant, event);
    const bool tell = agent->waiting;
    agent->waiting = false;
    pthread_mutex_unlock(&agent->lock);
    if (tell)
        sh_mailbox_post_text(agent->options.mailbox, SH_MAIL_TASK, SH_OK, "");
    look_soon(agent);
}

/* ---- the loop's side ------------------------------------------------------------------------- */

static void on_linked(void *context, uint32_t ring)
{
    handle(context, &(sh_participant_event){SH_PARTICIPANT_LINKED, .view = ring});
}

static void on_broken(void *context, uint32_t ring, uint32_t peer)
{
    handle(context,
           &(sh_participant_event){SH_PARTICIPANT_LINK_BROKEN, .view = ring, .peer = peer});
}

/* Returns 0 unless the position is a training stage. */
static uint32_t grains_at(const sh_agent *agent, sh_position position)
{
    const sh_schedule *schedule = sh_trainer_schedule(agent->session->trainer);
    const bool here = sh_position_same(position, sh_replica_position(agent->session->replica));
    if (position.phase == SH_PHASE_VALIDATION || position.steps >= schedule->total_steps ||
        (here && sh_trainer_is_over(agent->session->trainer)))
        return 0;
    return sh_schedule_batch(schedule, position.steps).grains;
}

static void on_position(void *context, uint64_t transfer, sh_position position)
{
    sh_agent *agent = context;
    handle(agent,
           &(sh_participant_event){SH_PARTICIPANT_FETCHED, .transfer = transfer,
                                   .position = position, .grains = grains_at(agent, position)});
}

static void on_left(void *context, uint64_t transfer, uint32_t left_ms)
{
    handle(context, &(sh_participant_event){SH_PARTICIPANT_FETCHING, .transfer = transfer,
                                            .left_ms = left_ms});
}

static void on_failed(void *context, uint64_t transfer)
{
    handle(context, &(sh_participant_event){SH_PARTICIPANT_FETCH_FAILED, .transfer = transfer});
}

static void end_fetch(sh_agent *agent)
{
    if (agent->fetch == NULL)
        return;
    const sh_channel_stats stats = sh_replica_fetch_stats(agent->fetch);
    sh_channel_stats_add(&agent->closed, stats);
    sh_replica_fetch_stop(agent->fetch);
    agent->fetch = NULL;
}

/* Runs only the transfer that the participant wants. */
static void take_from_others(sh_agent *agent, uint64_t number)
{
    const sh_directive *directive = &agent->orders.directive;
    if (agent->fetch != NULL && agent->taken != number)
        end_fetch(agent);
    if (agent->fetch != NULL || number == 0 || agent->settled)
        return;
    for (uint32_t i = 0; i < directive->transfer_count; i++) {
        const sh_transfer *transfer = &directive->transfers[i];
        if (transfer->number != number || transfer->receiver != agent->device)
            continue;
        agent->taken = number;
        if (sh_replica_fetch_start(&agent->fetch,
                                   &(sh_replica_fetch_options){.loop = agent->options.loop,
                                                               .session = agent->session,
                                                               .transfer = transfer,
                                                               .routes = agent->orders.donors[i],
                                                               .on_position = on_position,
                                                               .on_left = on_left,
                                                               .on_failed = on_failed,
                                                               .context = agent}) != SH_OK)
            on_failed(agent, number);
        return;
    }
    on_failed(agent, number);
}

#define CHUNK_BITS 14 /* log2 of the bytes that count as progress */

/* Under the lock. */
static sh_doing doing_now(const sh_agent *agent, uint64_t taken_bytes)
{
    sh_doing doing = {.activity = SH_ACTIVITY_COMPUTES, .progress = taken_bytes >> CHUNK_BITS};
    if (agent->lanes != NULL)
        doing.progress += sh_lanes_progress(agent->lanes);
    if (agent->participant.fetching != 0)
        doing.activity = SH_ACTIVITY_TAKES;
    else if ((agent->waiting && !agent->called) || agent->lanes == NULL ||
             sh_rings_wait(agent->rings))
        doing.activity = SH_ACTIVITY_WAITS;
    else if (sh_lanes_are_reading(agent->lanes))
        doing.activity = SH_ACTIVITY_READS;
    return doing;
}

/* Reads the process's figures from files before it takes the lock, which each stage needs. */
void sh_agent_report(sh_agent *agent)
{
    sh_channel_stats stats = agent->closed;
    sh_channel_stats_add(&stats, sh_donations_stats(agent->donations));
    sh_channel_stats_add(&stats, sh_rings_stats(agent->rings));
    uint64_t taken_bytes = agent->closed.received_bytes;
    if (agent->fetch != NULL) {
        const sh_channel_stats taking = sh_replica_fetch_stats(agent->fetch);
        sh_channel_stats_add(&stats, taking);
        taken_bytes += taking.received_bytes;
    }
    uint32_t stuck_peer = 0;
    const uint32_t stuck_ms = sh_rings_stuck_ms(agent->rings, &stuck_peer);
    sh_heartbeat heartbeat = {
        .opened = agent->opened,
        .done = {.cpu_seconds = sh_process_cpu_seconds(),
                 .peak_rss_bytes = sh_process_peak_rss_bytes(),
                 .bytes_sent = stats.sent_bytes,
                 .bytes_received = stats.received_bytes},
        .traffic = stats.traffic,
    };
    pthread_mutex_lock(&agent->lock);
    heartbeat.notice = agent->participant.notice;
    heartbeat.notice.doing = doing_now(agent, taken_bytes);
    heartbeat.notice.doing.stuck_ms = stuck_ms;
    heartbeat.notice.doing.stuck_peer = stuck_peer;
    agent->told = heartbeat.notice.speed;
    heartbeat.done.grains = agent->work.grains;
    heartbeat.done.samples = agent->work.samples;
    pthread_mutex_unlock(&agent->lock);
    agent->sent = heartbeat.notice.serial;
    agent->options.on_heartbeat(agent->options.context, &heartbeat);
}

static void look(void *context)
{
    sh_agent *agent = context;
    pthread_mutex_lock(&agent->lock);
    agent->looking = false;
    const bool aborted = sh_rings_abort_idle(agent->rings, &agent->participant);
    const uint32_t view = sh_participant_link(&agent->participant);
    const uint64_t fetching = agent->participant.fetching;
    const uint64_t serial = agent->participant.notice.serial;
    const bool tell = aborted && agent->waiting;
    pthread_mutex_unlock(&agent->lock);
    if (tell) /* to close the aborted ring */
        sh_mailbox_post_text(agent->options.mailbox, SH_MAIL_TASK, SH_OK, "");
    if (view != 0 && agent->opened != view) {
        if (sh_rings_open(agent->rings, &agent->orders, agent->device) == SH_OK) {
            agent->opened = view;
            agent->sent = 0; /* tells the coordinator */
        } else {
            sh_log(SH_LOG_WARN, "ring.failed", "view=%u reason=\"%s\"", view, sh_message());
            on_broken(agent, view, agent->device);
        }
    }
    if (view != 0 && agent->opened == view)
        sh_rings_connect(agent->rings, &agent->orders);
    if (agent->session != NULL) {
        sh_donations_follow(agent->donations, &agent->orders, agent->device);
        take_from_others(agent, fetching);
    }
    if (serial != agent->sent)
        sh_agent_report(agent);
}

static void look_soon(sh_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    const bool post = !agent->looking && !agent->closing;
    agent->looking = true;
    pthread_mutex_unlock(&agent->lock);
    if (post && sh_loop_post(agent->options.loop, look, agent) != SH_OK) {
        pthread_mutex_lock(&agent->lock);
        agent->looking = false; /* the next heartbeat looks */
        pthread_mutex_unlock(&agent->lock);
    }
}

#define CALL_BEATS 10 /* heartbeats between two calls */

/* Wakes the waiting step's thread to show that it is alive. It waits again before the next
 * heartbeat unless it hangs; so the coordinator notices before others wait for it. */
static void call_waiter(sh_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    const bool tell = agent->waiting && !agent->called;
    agent->called = agent->called || tell;
    pthread_mutex_unlock(&agent->lock);
    if (tell)
        sh_mailbox_post_text(agent->options.mailbox, SH_MAIL_CALL, SH_OK, "");
    sh_rings_call(agent->rings);
}

static void beat(void *context)
{
    sh_agent *agent = context;
    agent->sent = 0;
    look(agent);
    if (++agent->beats % CALL_BEATS == 0)
        call_waiter(agent);
}

void sh_agent_abandon(sh_agent *agent)
{
    handle(agent, &(sh_participant_event){.kind = SH_PARTICIPANT_ABANDONED});
    if (agent->session != NULL && !agent->settled) /* all devices compute its step again */
        sh_trainer_interrupt(agent->session->trainer, true);
    end_fetch(agent);
}

void sh_agent_set_listener(sh_agent *agent, sh_listener *listener)
{
    sh_rings_set_listener(agent->rings, listener);
    sh_donations_set_listener(agent->donations, listener);
}

bool sh_agent_accept(sh_agent *agent, sh_channel *channel, const char *identity)
{
    return sh_rings_accept(agent->rings, channel, identity) ||
           sh_donations_accept(agent->donations, channel, identity);
}

void sh_agent_follow(sh_agent *agent, const sh_orders *orders)
{
    if (orders->directive.serial < agent->orders.directive.serial)
        return;
    agent->orders = *orders;
    handle(agent,
           &(sh_participant_event){SH_PARTICIPANT_DIRECTIVE, .directive = &orders->directive});
}

/* ---- the step's side ------------------------------------------------------------------------- */

/* Called on the loop's thread. */
static void on_span(void *context, uint32_t index, const sh_span *span)
{
    const sh_agent *agent = context;
    if (span->word != SH_WORD_U64) /* the trailer's */
        sh_donations_span(agent->donations, index, span);
}

sh_task sh_agent_take(sh_agent *agent)
{
    sh_replica *replica = agent->session->replica;
    sh_replica_lock(replica); /* no other user may see the replica during the handover */
    pthread_mutex_lock(&agent->lock);
    const uint64_t fetched = agent->participant.fetching;
    const sh_task task = sh_participant_take(&agent->participant);
    agent->waiting = task.kind == SH_TASK_WAIT;
    const bool handed_over = fetched != agent->participant.fetching;
    pthread_mutex_unlock(&agent->lock);
    sh_replica_unlock(replica);
    if (handed_over) /* the replica passes to or from the loop's thread */
        sh_loop_call(agent->options.loop, look, agent);
    sh_rings_sweep(agent->rings);
    return task;
}

static void answer(sh_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    agent->called = false;
    pthread_mutex_unlock(&agent->lock);
}

sh_status sh_agent_wait(sh_agent *agent, sh_mail *mail, const sh_stop *stop)
{
    do {
        answer(agent);
        SH_TRY(sh_mailbox_wait(agent->options.mailbox, mail, stop, 0));
    } while (mail->kind == SH_MAIL_CALL);
    return SH_OK;
}

sh_engine *sh_agent_engine(sh_agent *agent, uint32_t ring)
{
    sh_engine *engine = sh_rings_engine(agent->rings, ring);
    if (engine != NULL)
        sh_engine_watch(engine, &(sh_engine_watcher){on_span, agent});
    return engine;
}

void sh_agent_restarted(sh_agent *agent)
{
    sh_replica_lock(agent->session->replica);
    sh_donations_restarted(agent->donations);
    sh_replica_unlock(agent->session->replica);
}

void sh_agent_notify(sh_agent *agent, const sh_participant_event *event)
{
    const sh_trainer_work work = sh_trainer_work_done(agent->session->trainer);
    if (event->kind == SH_PARTICIPANT_STOPPED || event->kind == SH_PARTICIPANT_DIFFERED ||
        event->kind == SH_PARTICIPANT_NOT_FINITE)
        sh_agent_restarted(agent); /* receivers must discard what they have of the stage */
    pthread_mutex_lock(&agent->lock);
    const sh_notice before = agent->participant.notice;
    sh_participant_handle(&agent->participant, event);
    agent->work =
        (sh_trainer_work){work.grains - agent->before.grains, work.samples - agent->before.samples};
    const sh_notice *after = &agent->participant.notice;
    /* Whether the event changes more than the position and the speed. */
    const bool look = event->kind != SH_PARTICIPANT_PASSED || before.view != after->view ||
                      before.life != after->life || before.leaving != after->leaving ||
                      sh_speed_differs(&agent->told, &after->speed);
    pthread_mutex_unlock(&agent->lock);
    if (look)
        look_soon(agent);
}

void sh_agent_passed(sh_agent *agent, const sh_stage_outcome *outcome)
{
    sh_donations_passed(agent->donations, outcome);
    if (outcome->passed == SH_PASSED_REDO) {
        pthread_mutex_lock(&agent->lock);
        sh_participant_handle(
            &agent->participant,
            &(sh_participant_event){.kind = SH_PARTICIPANT_REDONE, .position = outcome->after});
        pthread_mutex_unlock(&agent->lock);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

typedef struct request {
    sh_agent *agent;
    uint32_t device;
    sh_session *session;
    bool whole;
    sh_status status;
} request;

static void do_start(void *context)
{
    request *asked = context;
    sh_agent *agent = asked->agent;
    asked->status = sh_timer_new(&agent->heartbeat, agent->options.loop, beat, agent);
    if (asked->status == SH_OK)
        asked->status = sh_timer_start(agent->heartbeat, SH_HEARTBEAT_MS, SH_HEARTBEAT_MS);
}

sh_status sh_agent_new(sh_agent **agent, const sh_agent_options *options)
{
    sh_agent *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a device's place in the job");
    fresh->options = *options;
    pthread_mutex_init(&fresh->lock, NULL);
    sh_participant_init(&fresh->participant, 0);
    request asked = {.agent = fresh};
    sh_status status;
    SH_TRY_DONE(sh_rings_new(
        &fresh->rings, options->loop,
        &(sh_rings_events){.on_linked = on_linked, .on_broken = on_broken, .context = fresh}));
    SH_TRY_DONE(sh_donations_new(&fresh->donations, options->loop));
    sh_loop_call(options->loop, do_start, &asked);
    SH_TRY_DONE(asked.status);
    *agent = fresh;
    return SH_OK;
done:
    sh_agent_close(fresh);
    return sh_fail(status, "a device's place in the job: the loop has no timer for it");
}

/* Orders may have arrived before this device was ready. */
static void do_begin(void *context)
{
    request *asked = context;
    sh_agent *agent = asked->agent;
    const sh_position position = sh_replica_position(asked->session->replica);
    agent->device = asked->device;
    agent->session = asked->session;
    sh_agent_watch(agent, asked->session);
    sh_donations_begin(agent->donations, asked->session);
    pthread_mutex_lock(&agent->lock);
    agent->before = sh_trainer_work_done(asked->session->trainer);
    const uint64_t said = agent->participant.notice.serial;
    sh_participant_init(&agent->participant, asked->device);
    agent->participant.notice.serial += said;
    if (agent->orders.directive.serial > 0)
        sh_participant_handle(&agent->participant,
                              &(sh_participant_event){SH_PARTICIPANT_DIRECTIVE,
                                                      .directive = &agent->orders.directive});
    pthread_mutex_unlock(&agent->lock);
    handle(agent, &(sh_participant_event){SH_PARTICIPANT_PREPARED, .whole = asked->whole,
                                          .position = position,
                                          .grains = asked->whole ? grains_at(agent, position) : 0});
}

void sh_agent_watch(sh_agent *agent, const sh_session *session)
{
    pthread_mutex_lock(&agent->lock);
    agent->lanes = session == NULL ? NULL : sh_trainer_lanes(session->trainer);
    pthread_mutex_unlock(&agent->lock);
}

void sh_agent_begin(sh_agent *agent, uint32_t device, sh_session *session, bool whole)
{
    sh_loop_call(agent->options.loop, do_begin,
                 &(request){.agent = agent, .device = device, .session = session, .whole = whole});
}

static void do_settle(void *context)
{
    sh_agent *agent = context;
    agent->settled = true;
    if (agent->session != NULL)
        sh_trainer_interrupt(agent->session->trainer, false);
    end_fetch(agent);
}

bool sh_agent_is_whole(sh_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    const sh_participant *participant = &agent->participant;
    const bool whole = participant->notice.whole && participant->fetching == 0;
    pthread_mutex_unlock(&agent->lock);
    return whole;
}

bool sh_agent_stop(sh_agent *agent)
{
    sh_loop_call(agent->options.loop, do_settle, agent);
    return sh_agent_is_whole(agent);
}

static void do_close(void *context)
{
    sh_agent *agent = context;
    pthread_mutex_lock(&agent->lock);
    agent->closing = true; /* links may still break after their listeners are freed */
    pthread_mutex_unlock(&agent->lock);
    sh_timer_free(agent->heartbeat);
    end_fetch(agent);
    if (agent->donations != NULL)
        sh_donations_close(agent->donations);
}

void sh_agent_close(sh_agent *agent)
{
    if (agent == NULL)
        return;
    sh_loop_call(agent->options.loop, do_close, agent);
    sh_rings_free(agent->rings);
    sh_donations_free(agent->donations);
    sh_key_wipe(&agent->orders, sizeof agent->orders);
    pthread_mutex_destroy(&agent->lock);
    free(agent);
}
