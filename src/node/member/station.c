/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The participant stands between two threads, under `lock`. Who brings an event posts a *look* to
 * the loop if something may be due there: links to make, rings to end, a transfer, a notice. The
 * step's thread hears by mail, once for any number of events. Most stages change only the position,
 * which goes with the next heartbeat.
 */
#include "node/member/station.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/member/donations.h"
#include "node/member/intake.h"
#include "node/member/rings.h"

struct sh_station {
    sh_station_options options;
    uint32_t device;
    sh_workbench *bench; /* NULL before it is prepared */
    sh_rings *rings;

    /* The loop's. */
    sh_timer *heartbeat;
    sh_donations *donations;
    sh_intake *intake;
    uint64_t taken; /* the transfer of the intake */
    sh_orders orders;
    uint32_t opened;         /* the newest ring whose door was opened */
    uint64_t sent;           /* serial of the notice that went last */
    uint64_t beats;          /* heartbeats so far */
    sh_channel_stats closed; /* of intakes that are gone */
    bool settled;            /* none comes any more */

    pthread_mutex_t lock; /* guards all below */
    sh_participant participant;
    sh_trainer_work work, before; /* since this station began; what the trainer had done by then */
    sh_speed told;                /* in the notice that went last */
    const sh_lanes *lanes;        /* that are watched; NULL before there are any */
    bool waiting;                 /* the step's thread waits, and was not told of news yet */
    bool called;                  /* it is to show that it could go on, and has not yet */
    bool looking;                 /* a look is on its way */
    bool closing;                 /* none goes any more */
};

static void look_soon(sh_station *station);

/* Takes an event of the loop's side in. */
static void handle(sh_station *station, const sh_participant_event *event)
{
    pthread_mutex_lock(&station->lock);
    sh_participant_handle(&station->participant, event);
    const bool tell = station->waiting;
    station->waiting = false;
    pthread_mutex_unlock(&station->lock);
    if (tell)
        sh_mailbox_tell(station->options.mailbox, SH_MAIL_TASK, SH_OK, "");
    look_soon(station);
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

/* Grains of the stage at a position, where that is a training's. */
static uint32_t grains_at(const sh_station *station, sh_position position)
{
    const sh_schedule *schedule = sh_trainer_schedule(station->bench->trainer);
    const bool here = sh_position_same(position, sh_replica_position(station->bench->replica));
    if (position.phase == SH_PHASE_VALIDATION || position.steps >= schedule->total_steps ||
        (here && sh_trainer_is_over(station->bench->trainer)))
        return 0;
    return sh_schedule_batch(schedule, position.steps).grains;
}

static void on_position(void *context, uint64_t transfer, sh_position position)
{
    sh_station *station = context;
    handle(station,
           &(sh_participant_event){SH_PARTICIPANT_FETCHED, .transfer = transfer,
                                   .position = position, .grains = grains_at(station, position)});
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

static void end_intake(sh_station *station)
{
    if (station->intake == NULL)
        return;
    const sh_channel_stats stats = sh_intake_stats(station->intake);
    sh_channel_stats_add(&station->closed, stats);
    sh_intake_stop(station->intake);
    station->intake = NULL;
}

/* Takes from others what the participant takes, and nothing else. */
static void take_from_others(sh_station *station, uint64_t number)
{
    const sh_directive *directive = &station->orders.directive;
    if (station->intake != NULL && station->taken != number)
        end_intake(station);
    if (station->intake != NULL || number == 0 || station->settled)
        return;
    for (uint32_t i = 0; i < directive->transfer_count; i++) {
        const sh_transfer *transfer = &directive->transfers[i];
        if (transfer->number != number || transfer->taker != station->device)
            continue;
        station->taken = number;
        if (sh_intake_start(&station->intake,
                            &(sh_intake_options){.loop = station->options.loop,
                                                 .bench = station->bench,
                                                 .transfer = transfer,
                                                 .routes = station->orders.donors[i],
                                                 .on_position = on_position,
                                                 .on_left = on_left,
                                                 .on_failed = on_failed,
                                                 .context = station}) != SH_OK)
            on_failed(station, number);
        return;
    }
    on_failed(station, number); /* the transfer is over */
}

#define CHUNK_BITS 14 /* a replica that comes gets on by so many bytes */

/* What this device does now. Under the lock. */
static sh_doing doing_now(const sh_station *station, uint64_t taken_bytes)
{
    sh_doing doing = {.activity = SH_ACTIVITY_COMPUTES, .progress = taken_bytes >> CHUNK_BITS};
    if (station->lanes != NULL)
        doing.progress += sh_lanes_progress(station->lanes);
    if (station->participant.fetching != 0)
        doing.activity = SH_ACTIVITY_TAKES;
    else if ((station->waiting && !station->called) || station->lanes == NULL ||
             sh_rings_wait(station->rings))
        doing.activity = SH_ACTIVITY_WAITS;
    else if (sh_lanes_are_reading(station->lanes))
        doing.activity = SH_ACTIVITY_READS;
    return doing;
}

/* The figures of the process are read from files, so before the lock that each stage takes. */
void sh_station_report(sh_station *station)
{
    sh_channel_stats stats = station->closed; /* of all rings and transfers so far */
    sh_channel_stats_add(&stats, sh_donations_stats(station->donations));
    sh_channel_stats_add(&stats, sh_rings_stats(station->rings));
    uint64_t taken_bytes = station->closed.received_bytes;
    if (station->intake != NULL) {
        const sh_channel_stats taking = sh_intake_stats(station->intake);
        sh_channel_stats_add(&stats, taking);
        taken_bytes += taking.received_bytes;
    }
    uint32_t stuck_peer = 0;
    const uint32_t stuck_ms = sh_rings_stuck_ms(station->rings, &stuck_peer);
    sh_standing standing = {
        .opened = station->opened,
        .done = {.cpu_seconds = sh_process_cpu_seconds(),
                 .peak_rss_bytes = sh_process_peak_rss_bytes(),
                 .bytes_sent = stats.sent_bytes,
                 .bytes_received = stats.received_bytes},
        .traffic = stats.traffic,
    };
    pthread_mutex_lock(&station->lock);
    standing.notice = station->participant.notice;
    standing.notice.doing = doing_now(station, taken_bytes);
    standing.notice.doing.stuck_ms = stuck_ms;
    standing.notice.doing.stuck_peer = stuck_peer;
    station->told = standing.notice.speed;
    standing.done.grains = station->work.grains;
    standing.done.samples = station->work.samples;
    pthread_mutex_unlock(&station->lock);
    station->sent = standing.notice.serial;
    station->options.on_standing(station->options.context, &standing);
}

/* Does what the participant wants of the loop. */
static void look(void *context)
{
    sh_station *station = context;
    pthread_mutex_lock(&station->lock);
    station->looking = false;
    const bool aborted = sh_rings_abort_idle(station->rings, &station->participant);
    const uint32_t view = sh_participant_link(&station->participant);
    const uint64_t fetching = station->participant.fetching;
    const uint64_t serial = station->participant.notice.serial;
    const bool tell = aborted && station->waiting;
    pthread_mutex_unlock(&station->lock);
    if (tell) /* to close what was aborted */
        sh_mailbox_tell(station->options.mailbox, SH_MAIL_TASK, SH_OK, "");
    if (view != 0 && station->opened != view) {
        if (sh_rings_open(station->rings, &station->orders, station->device) == SH_OK) {
            station->opened = view;
            station->sent = 0; /* the coordinator is to know */
        } else {
            sh_log(SH_LOG_WARN, "ring.failed", "view=%u reason=\"%s\"", view, sh_message());
            on_broken(station, view, station->device);
        }
    }
    if (view != 0 && station->opened == view)
        sh_rings_connect(station->rings, &station->orders);
    if (station->bench != NULL) {
        sh_donations_follow(station->donations, &station->orders, station->device);
        take_from_others(station, fetching);
    }
    if (serial != station->sent)
        sh_station_report(station);
}

static void look_soon(sh_station *station)
{
    pthread_mutex_lock(&station->lock);
    const bool post = !station->looking && !station->closing;
    station->looking = true;
    pthread_mutex_unlock(&station->lock);
    if (post && sh_loop_post(station->options.loop, look, station) != SH_OK) {
        pthread_mutex_lock(&station->lock);
        station->looking = false; /* the next heartbeat looks */
        pthread_mutex_unlock(&station->lock);
    }
}

#define CALL_BEATS 10 /* heartbeats between two calls */

/* Has the step's thread show that it could go on: it is woken where it waits. It is back before the
 * next heartbeat, unless it hangs; then the coordinator sees that long before others wait for it.
 */
static void call_waiter(sh_station *station)
{
    pthread_mutex_lock(&station->lock);
    const bool tell = station->waiting && !station->called;
    station->called = station->called || tell;
    pthread_mutex_unlock(&station->lock);
    if (tell)
        sh_mailbox_tell(station->options.mailbox, SH_MAIL_CALL, SH_OK, "");
    sh_rings_call(station->rings);
}

static void beat(void *context)
{
    sh_station *station = context;
    station->sent = 0;
    look(station);
    if (++station->beats % CALL_BEATS == 0)
        call_waiter(station);
}

void sh_station_abandon(sh_station *station)
{
    handle(station, &(sh_participant_event){.kind = SH_PARTICIPANT_ABANDONED});
    end_intake(station);
}

void sh_station_set_door(sh_station *station, sh_listener *door)
{
    sh_rings_set_door(station->rings, door);
    sh_donations_set_door(station->donations, door);
}

bool sh_station_accept(sh_station *station, sh_channel *channel, const char *identity)
{
    return sh_rings_accept(station->rings, channel, identity) ||
           sh_donations_accept(station->donations, channel, identity);
}

void sh_station_follow(sh_station *station, const sh_orders *orders)
{
    if (orders->directive.serial < station->orders.directive.serial)
        return;
    station->orders = *orders;
    handle(station,
           &(sh_participant_event){SH_PARTICIPANT_DIRECTIVE, .directive = &orders->directive});
}

/* ---- the step's side ------------------------------------------------------------------------- */

/* The ring has a bucket's sum. Runs on the loop. */
static void on_span(void *context, uint32_t index, const sh_span *span)
{
    const sh_station *station = context;
    if (span->word != SH_WORD_U64) /* the trailer's */
        sh_donations_span(station->donations, index, span);
}

sh_task sh_station_take(sh_station *station)
{
    sh_replica *replica = station->bench->replica;
    sh_replica_lock(replica); /* nobody else who has it sees the replica handed over */
    pthread_mutex_lock(&station->lock);
    const uint64_t fetched = station->participant.fetching;
    const sh_task task = sh_participant_take(&station->participant);
    station->waiting = task.kind == SH_TASK_WAIT;
    const bool handed_over = fetched != station->participant.fetching;
    pthread_mutex_unlock(&station->lock);
    sh_replica_unlock(replica);
    if (handed_over) /* the replica is the loop's no more, or becomes it */
        sh_loop_call(station->options.loop, look, station);
    sh_rings_sweep(station->rings);
    return task;
}

static void answer(sh_station *station)
{
    pthread_mutex_lock(&station->lock);
    station->called = false;
    pthread_mutex_unlock(&station->lock);
}

sh_status sh_station_wait(sh_station *station, sh_mail *mail, const sh_stop *stop)
{
    do {
        answer(station);
        SH_TRY(sh_mailbox_wait(station->options.mailbox, mail, stop, 0));
    } while (mail->kind == SH_MAIL_CALL);
    return SH_OK;
}

sh_engine *sh_station_engine(sh_station *station, uint32_t ring)
{
    sh_engine *engine = sh_rings_engine(station->rings, ring);
    if (engine != NULL)
        sh_engine_watch(engine, &(sh_engine_watcher){on_span, station});
    return engine;
}

void sh_station_restarted(sh_station *station)
{
    sh_replica_lock(station->bench->replica);
    sh_donations_restarted(station->donations);
    sh_replica_unlock(station->bench->replica);
}

void sh_station_tell(sh_station *station, const sh_participant_event *event)
{
    const sh_trainer_work work = sh_trainer_work_done(station->bench->trainer);
    if (event->kind == SH_PARTICIPANT_STOPPED || event->kind == SH_PARTICIPANT_DIFFERED ||
        event->kind == SH_PARTICIPANT_NOT_FINITE)
        sh_station_restarted(station); /* what takers have of the stage is void */
    pthread_mutex_lock(&station->lock);
    const sh_notice before = station->participant.notice;
    sh_participant_handle(&station->participant, event);
    station->work = (sh_trainer_work){work.grains - station->before.grains,
                                      work.samples - station->before.samples};
    const sh_notice *after = &station->participant.notice;
    /* Whether it changes more than the position and what is known of the speed. */
    const bool look = event->kind != SH_PARTICIPANT_PASSED || before.view != after->view ||
                      before.life != after->life || before.leaving != after->leaving ||
                      sh_speed_differs(&station->told, &after->speed);
    pthread_mutex_unlock(&station->lock);
    if (look)
        look_soon(station);
}

void sh_station_passed(sh_station *station, const sh_stage_outcome *outcome)
{
    sh_donations_passed(station->donations, outcome);
    if (outcome->passed == SH_PASSED_REDO) {
        pthread_mutex_lock(&station->lock);
        sh_participant_handle(
            &station->participant,
            &(sh_participant_event){.kind = SH_PARTICIPANT_REDONE, .position = outcome->after});
        pthread_mutex_unlock(&station->lock);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

/* A call from the step's thread, carried out on the loop's. */
typedef struct request {
    sh_station *station;
    uint32_t device;
    sh_workbench *bench;
    bool whole;
    sh_status status;
} request;

static void do_start(void *context)
{
    request *asked = context;
    sh_station *station = asked->station;
    asked->status = sh_timer_new(&station->heartbeat, station->options.loop, beat, station);
    if (asked->status == SH_OK)
        asked->status = sh_timer_start(station->heartbeat, SH_HEARTBEAT_MS, SH_HEARTBEAT_MS);
}

sh_status sh_station_new(sh_station **station, const sh_station_options *options)
{
    sh_station *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a device's place in the job");
    fresh->options = *options;
    pthread_mutex_init(&fresh->lock, NULL);
    sh_participant_init(&fresh->participant, 0);
    request asked = {.station = fresh};
    sh_status status;
    SH_TRY_DONE(sh_rings_new(
        &fresh->rings, options->loop,
        &(sh_rings_events){.on_linked = on_linked, .on_broken = on_broken, .context = fresh}));
    SH_TRY_DONE(sh_donations_new(&fresh->donations, options->loop));
    sh_loop_call(options->loop, do_start, &asked);
    SH_TRY_DONE(asked.status);
    *station = fresh;
    return SH_OK;
done:
    sh_station_close(fresh);
    return sh_fail(status, "a device's place in the job: the loop has no timer for it");
}

/* Orders may have come before this device was prepared. */
static void do_begin(void *context)
{
    request *asked = context;
    sh_station *station = asked->station;
    const sh_position position = sh_replica_position(asked->bench->replica);
    station->device = asked->device;
    station->bench = asked->bench;
    sh_station_watch(station, asked->bench);
    sh_donations_begin(station->donations, asked->bench);
    pthread_mutex_lock(&station->lock);
    station->before = sh_trainer_work_done(asked->bench->trainer);
    const uint64_t said = station->participant.notice.serial; /* while it was being prepared */
    sh_participant_init(&station->participant, asked->device);
    station->participant.notice.serial += said;
    if (station->orders.directive.serial > 0)
        sh_participant_handle(&station->participant,
                              &(sh_participant_event){SH_PARTICIPANT_DIRECTIVE,
                                                      .directive = &station->orders.directive});
    pthread_mutex_unlock(&station->lock);
    handle(station, &(sh_participant_event){
                        SH_PARTICIPANT_PREPARED, .whole = asked->whole, .position = position,
                        .grains = asked->whole ? grains_at(station, position) : 0});
}

void sh_station_watch(sh_station *station, const sh_workbench *bench)
{
    pthread_mutex_lock(&station->lock);
    station->lanes = bench == NULL ? NULL : sh_trainer_lanes(bench->trainer);
    pthread_mutex_unlock(&station->lock);
}

void sh_station_begin(sh_station *station, uint32_t device, sh_workbench *bench, bool whole)
{
    sh_loop_call(station->options.loop, do_begin,
                 &(request){.station = station, .device = device, .bench = bench, .whole = whole});
}

static void do_settle(void *context)
{
    sh_station *station = context;
    station->settled = true;
    end_intake(station);
}

bool sh_station_is_whole(sh_station *station)
{
    pthread_mutex_lock(&station->lock);
    const sh_participant *participant = &station->participant;
    const bool whole = participant->notice.whole && participant->fetching == 0;
    pthread_mutex_unlock(&station->lock);
    return whole;
}

bool sh_station_settle(sh_station *station)
{
    sh_loop_call(station->options.loop, do_settle, station);
    return sh_station_is_whole(station);
}

static void do_close(void *context)
{
    sh_station *station = context;
    pthread_mutex_lock(&station->lock);
    station->closing = true; /* links may still break, and those who hear of it are gone */
    pthread_mutex_unlock(&station->lock);
    sh_timer_free(station->heartbeat);
    end_intake(station);
    if (station->donations != NULL)
        sh_donations_close(station->donations);
}

void sh_station_close(sh_station *station)
{
    if (station == NULL)
        return;
    sh_loop_call(station->options.loop, do_close, station);
    sh_rings_free(station->rings);
    sh_donations_free(station->donations);
    sh_key_wipe(&station->orders, sizeof station->orders);
    pthread_mutex_destroy(&station->lock);
    free(station);
}
