/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views change in two ways. A planned change (a device joins or leaves, or shares change) halts no
 * device:
 *
 *     STEADY      all devices of `now` work in it; joiners follow by live transfers
 *     LINKING     the devices of `next` link while `now` works on. Device 0 announces `next` when
 *                 all are linked and the joiners' replicas are whole, or nearly. Until then it can
 *                 be given up for one with a higher number
 *     COMMITTED   device 0 has `next` in its trailer: it takes effect unless a device is lost
 *     ENTERING    device 0 works in it, so it is `now`. Joiners receive GO. When all have entered
 *                 and leaving devices have passed their last stage, these are dismissed: STEADY
 *
 * A joiner's links are tested before it receives a replica: it has a seat in a `next` that is
 * linked and then dropped (`testing_links`). Other changes take precedence.
 *
 * An unplanned change follows a loss, a broken link or differing replicas. The first view is made
 * in the same way:
 *
 *     HALTING    all devices with a seat stop and report position and held grains
 *     RECOVERING cluster/recovery has decided: some receive replicas, all link `next`
 *     ENTERING   as above, from a common start
 *
 * A member is *seated* from the GO of its first view until it is dismissed or lost. Only seated
 * members must halt, because only they can hold grains or be ahead. A member *on_standby* has no
 * seat, or will have none in the next view. Numbers of views increase with each attempt; numbers of
 * views and transfers are never reused.
 *
 * Time is the sum of the differences between ticks, each limited to TICK_MS, so that no device
 * counts as silent while the coordinator itself was frozen.
 */
#include "cluster/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/membership_audit.h"
#include "cluster/membership_halt.h"
#include "cluster/membership_losses.h"
#include "cluster/membership_select.h"
#include "cluster/membership_transfers.h"
#include "cluster/membership_watch.h"

#define TICK_MS 100

sh_status sh_membership_new(sh_membership **membership, const sh_membership_options *options)
{
    sh_membership *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sh_fail_memory(sizeof *made, "the membership");
    made->min_devices = options->min_devices == 0 ? 1 : options->min_devices;
    made->audit.part = options->audit;
    made->gather_ms = options->gather_ms;
    made->grains = options->grains;
    made->serving = options->serving;
    made->last_view = options->views_before;
    made->balance.spare = options->used != SH_STANDBY_ALL;
    sh_lineup_job lineup = options->lineup;
    lineup.grains = options->grains;
    lineup.servers = options->serving.on;
    sh_standby_init(&made->standby, &lineup, options->used);
    made->followed = options->followed;
    snprintf(made->version, sizeof made->version, "%s", options->version);
    snprintf(made->fingerprint, sizeof made->fingerprint, "%s", options->fingerprint);
    snprintf(made->first_grain, sizeof made->first_grain, "%s", options->first_grain);
    made->slots = 1;
    made->members[0] = (sh_roster_entry){.present = true, .local = true};
    snprintf(made->members[0].name, sizeof made->members[0].name, "%s", options->name);
    sh_membership_mark_changed(made, &made->members[0]);
    *membership = made;
    return SH_OK;
}

void sh_membership_free(sh_membership *membership)
{
    free(membership);
}

/* --- Events -------------------------------------------------------------------------------- */

static void handle_hello(sh_membership *membership, const sh_membership_event *event)
{
    uint32_t slot = 1;
    while (slot < SH_DEVICES_MAX && membership->members[slot].present)
        slot++;
    if (sh_membership_find(membership, event->device) != NULL) {
        sh_membership_lose(membership, sh_membership_find(membership, event->device),
                           "a second hello", SH_LOSS_MESSAGE_REFUSAL);
        return;
    }
    if (strcmp(event->version, membership->version) != 0) {
        sh_membership_act(membership, SH_MEMBERSHIP_REFUSE, event->device,
                          "this device runs shoal %.32s, the job shoal %.32s: use the same",
                          event->version, membership->version);
        return;
    }
    if (slot == SH_DEVICES_MAX) {
        sh_membership_act(membership, SH_MEMBERSHIP_REFUSE, event->device,
                          "the job has %d devices, the maximum: join again when one has left",
                          SH_DEVICES_MAX);
        return;
    }
    const sh_evicted *evicted = sh_membership_find_evicted(membership, event->name);
    if (evicted != NULL && evicted->guilty) {
        sh_membership_act(membership, SH_MEMBERSHIP_REFUSE, event->device,
                          "the checks of the weights disagree only with device %.64s: its memory "
                          "or processor computes wrongly",
                          event->name);
        return;
    }
    sh_roster_entry *one = &membership->members[slot];
    if (slot >= membership->slots)
        membership->slots = slot + 1;
    *one = (sh_roster_entry){.present = true, .device = event->device, .local = event->local};
    sh_silence_begin(&one->silence, membership->clock_ms);
    sh_membership_watch_begin(membership, one);
    snprintf(one->name, sizeof one->name, "%s", event->name);
    one->repairs.again = evicted != NULL;
    sh_membership_mark_changed(membership, one);
    sh_membership_act(membership, SH_MEMBERSHIP_ADMIT, one->device, "%s", "");
}

/* False: the device is refused. */
static bool make_ready(sh_membership *membership, sh_roster_entry *one,
                       const sh_membership_event *event)
{
    if (event->fingerprint == NULL || event->first_grain == NULL ||
        strcmp(event->fingerprint, membership->fingerprint) != 0) {
        sh_membership_lose(
            membership, one,
            "its data differ from the job's: copy the same files, or name their folder with "
            "--data",
            SH_LOSS_MESSAGE_REFUSAL);
        return false;
    }
    if (strcmp(event->first_grain, membership->first_grain) != 0) {
        char reason[SH_MEMBERSHIP_TEXT];
        snprintf(reason, sizeof reason,
                 "device %.64s computes different bits: its processor, memory or build of shoal "
                 "has a defect; use another device, and please report it with its output of shoal "
                 "version and lscpu",
                 one->name);
        sh_membership_note(membership, SH_NEWS_DEFECT, one->device, "%s", reason);
        sh_membership_lose(membership, one, reason, SH_LOSS_MESSAGE_REFUSAL);
        return false;
    }
    one->ready = true;
    one->proven = one->device == 0;
    one->ready_ms = one->standby_changed_ms = membership->clock_ms;
    one->on_standby = sh_membership_selects(membership) && one->device != 0 && !one->local;
    return true;
}

static void check_gathered(sh_membership *membership)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < membership->slots; i++)
        ready += membership->members[i].present && membership->members[i].ready;
    const bool late = membership->gather_ms != 0 && membership->clock_ms >= membership->gather_ms;
    if ((ready < membership->min_devices && !late) || !sh_membership_coordinator(membership)->ready)
        return;
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        one->seated = one->welcomed = one->present && one->ready;
        one->on_standby = false;
    }
    sh_membership_halt(membership);
}

static void handle_broken(sh_membership *membership, const sh_roster_entry *one,
                          const sh_notice *before, const char *address)
{
    const sh_notice *notice = &one->notice;
    const uint32_t device = one->device;
    if (notice->broken == before->broken || notice->broken == 0)
        return;
    const bool left = membership->phase == SH_MEMBERSHIP_ENTERING &&
                      notice->broken == membership->left_ring &&
                      notice->view != membership->now.number;
    const bool working = sh_membership_works(membership) && one->seated &&
                         (notice->broken == membership->now.ring || left);
    const bool linking =
        notice->broken == membership->next.ring && sh_membership_expects(membership, device);
    if (!working && !linking)
        return;
    if (sh_membership_is_done(membership)) {
        sh_membership_end(membership, SH_OK, "");
        return;
    }
    const uint32_t peer = notice->broken_peer;
    if (working)
        sh_membership_halt(membership);
    else
        sh_membership_give_up(membership);
    sh_membership_count_broken(membership, device, peer, working ? NULL : address);
}

static void handle_failed(sh_membership *membership, sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    if (transfer != NULL && one->notice.failed == transfer->number)
        sh_membership_fail_transfer(membership, one);
}

static void handle_progress(sh_membership *membership)
{
    const sh_notice *zero = &sh_membership_coordinator(membership)->notice;
    if (zero->view != membership->now.number || !sh_membership_works(membership) ||
        !sh_position_before(membership->start, zero->position))
        return;
    if (!membership->stage_passed)
        sh_membership_forget_broken(membership);
    membership->stage_passed = true;
    if (zero->position.steps == membership->proven_steps)
        return;
    membership->proven_steps = zero->position.steps;
    sh_membership_prove(membership);
    sh_membership_note_step(membership, zero->position.steps);
    if (membership->phase == SH_MEMBERSHIP_STEADY)
        sh_membership_assess(membership);
}

/* All devices with a seat must have reported the end. Such a device has view 0, like one that is
 * out, until it has reported entering this view; but its figures are still to arrive. */
static void check_finished(sh_membership *membership)
{
    const sh_position end_position = sh_membership_coordinator(membership)->notice.position;
    const sh_seating *now = &membership->now;
    if (!sh_membership_is_done(membership) || membership->phase == SH_MEMBERSHIP_GATHERING)
        return;
    for (uint32_t i = 0; i < membership->slots && sh_membership_works(membership); i++) {
        const sh_roster_entry *one = &membership->members[i];
        const sh_notice *notice = &one->notice;
        const bool out =
            notice->view == 0 && sh_seat_of(now->seats, now->seat_count, one->device) == NULL;
        const bool there = notice->life == SH_LIFE_FINISHED || out ||
                           (notice->whole && !sh_position_before(notice->position, end_position));
        if (one->present && one->seated && !there)
            return;
    }
    sh_membership_end(membership, SH_OK, "");
}

static void handle_notice(sh_membership *membership, const sh_membership_event *event)
{
    sh_roster_entry *one = sh_membership_find(membership, event->device);
    if (one == NULL)
        return;
    sh_silence_heard(&one->silence, membership->clock_ms);
    sh_membership_watch_notice(membership, one, &event->notice->doing);
    if (event->notice->serial <= one->notice.serial)
        return;
    const bool makes_sense = event->notice->life >= SH_LIFE_PREPARING &&
                             event->notice->life <= SH_LIFE_FINISHED &&
                             event->notice->grains <= membership->grains &&
                             event->notice->differing <= membership->last_view &&
                             event->notice->not_finite <= membership->last_view &&
                             sh_ranges_valid(&event->notice->held, membership->grains) &&
                             sh_ranges_valid(&event->notice->audit.grains, membership->grains);
    if (!makes_sense) {
        sh_membership_lose(membership, one, "it sent an invalid notice", SH_LOSS_MESSAGE_REFUSAL);
        return;
    }
    const sh_notice before = one->notice;
    one->notice = *event->notice;
    if (!one->ready && one->notice.life >= SH_LIFE_READY && !make_ready(membership, one, event))
        return;
    const sh_transfer *taking = sh_membership_transfer_to(membership, one->device);
    if (one->notice.fetched != before.fetched && one->notice.whole && taking != NULL &&
        one->notice.fetched == taking->number)
        sh_membership_note(membership, SH_NEWS_WHOLE, one->device,
                           "device %.64s has all of the replica, at step %llu", one->name,
                           (unsigned long long)one->notice.position.steps);
    handle_broken(membership, one, &before, event->address);
    if (one->present && one->seated && one->notice.differing != before.differing &&
        !sh_membership_is_done(membership)) {
        if (!membership->faults.differed || one->device == 0)
            membership->faults.differed_at = one->notice.position;
        membership->faults.differed = true;
        if (sh_membership_works(membership))
            sh_membership_halt(membership);
    }
    if (one->present && one->seated && one->notice.not_finite != before.not_finite &&
        !sh_membership_is_done(membership)) {
        membership->faults.not_finite = true;
        if (sh_membership_works(membership))
            sh_membership_halt(membership);
    }
    if (one->present)
        handle_failed(membership, one);
    if (event->device == 0)
        handle_progress(membership);
}

static void handle_tick(sh_membership *membership, uint64_t now_ms)
{
    uint64_t passed = membership->ticked ? now_ms - membership->ticked_ms : 0;
    if (passed > TICK_MS)
        passed = TICK_MS;
    membership->ticked = true;
    membership->ticked_ms = now_ms;
    membership->clock_ms += passed;
    uint32_t lost = 0;
    for (uint32_t i = 1; i < membership->slots && lost < SH_MEMBERSHIP_LOST_MAX; i++) {
        sh_roster_entry *one = &membership->members[i];
        const bool awaited = one->seated || sh_membership_expects(membership, one->device);
        if (!one->present || sh_silence_ms(&one->silence, membership->clock_ms) <
                                 sh_silence_limit_ms(&one->silence, awaited))
            continue;
        sh_membership_lose(membership, one, "nothing was heard from it", SH_LOSS_MESSAGE_FOR_NOW);
        lost++;
    }
    sh_membership_watch(membership);
    if (sh_membership_select(membership))
        sh_membership_halt(membership);
}

static void settle(sh_membership *membership)
{
    sh_membership_phase before;
    do {
        before = membership->phase;
        check_finished(membership);
        if (membership->phase == SH_MEMBERSHIP_GATHERING)
            check_gathered(membership);
        if (sh_membership_works(membership))
            sh_membership_check_audit(membership);
        if (membership->phase == SH_MEMBERSHIP_HALTING)
            sh_membership_check_halted(membership);
        if (membership->phase == SH_MEMBERSHIP_LINKING && !sh_membership_plan_holds(membership))
            sh_membership_give_up(membership);
        if (membership->phase == SH_MEMBERSHIP_LINKING)
            sh_membership_check_link_test(membership);
        sh_membership_dismiss_joiners(membership);
        sh_membership_begin_transfers(membership);
        if (membership->phase == SH_MEMBERSHIP_RECOVERING)
            sh_membership_check_recovered(membership);
        if (membership->phase == SH_MEMBERSHIP_COMMITTED)
            sh_membership_check_committed(membership);
        if (membership->phase == SH_MEMBERSHIP_ENTERING)
            sh_membership_check_entered(membership);
        sh_membership_check_kept(membership);
        if (membership->phase == SH_MEMBERSHIP_STEADY)
            sh_membership_plan(membership);
    } while (membership->phase != before);
}

void sh_membership_handle(sh_membership *membership, const sh_membership_event *event)
{
    sh_roster_entry *one = sh_membership_find(membership, event->device);
    if (membership->phase == SH_MEMBERSHIP_ENDED)
        return;
    switch (event->kind) {
    case SH_MEMBERSHIP_HELLO:
        handle_hello(membership, event);
        break;
    case SH_MEMBERSHIP_NOTICE:
        handle_notice(membership, event);
        break;
    case SH_MEMBERSHIP_HEARD:
        if (one != NULL)
            sh_silence_heard(&one->silence, membership->clock_ms);
        break;
    case SH_MEMBERSHIP_GONE:
        if (one != NULL && event->device == 0)
            sh_membership_end(membership, SH_PEER_LOST, event->reason);
        else if (one != NULL)
            sh_membership_lose(membership, one, event->reason, SH_LOSS_MESSAGE_NONE);
        break;
    case SH_MEMBERSHIP_ANNOUNCED:
        if (membership->phase == SH_MEMBERSHIP_LINKING && event->view == membership->next.number)
            membership->phase = SH_MEMBERSHIP_COMMITTED;
        break;
    case SH_MEMBERSHIP_LINK:
        if (one != NULL)
            one->link = *event->link;
        break;
    case SH_MEMBERSHIP_TICK:
        handle_tick(membership, event->now_ms);
        break;
    }
    settle(membership);
}

/* --- Output -------------------------------------------------------------------------------- */

const char *sh_news_name(sh_news news)
{
    static const char *const names[] = {
#define NEWS_NAME(name, text) [SH_NEWS_##name] = (text),
        SH_NEWS_MAP(NEWS_NAME)
#undef NEWS_NAME
    };
    return names[news];
}

bool sh_membership_next(sh_membership *membership, sh_membership_action *action)
{
    if (membership->action_taken < membership->action_count) {
        *action = membership->actions[membership->action_taken++];
        return true;
    }
    membership->action_taken = membership->action_count = 0;
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (!one->present || !one->changed || membership->phase == SH_MEMBERSHIP_ENDED)
            continue;
        one->changed = false;
        *action = (sh_membership_action){.kind = SH_MEMBERSHIP_ORDER, .device = one->device};
        return true;
    }
    return false;
}

static void put_view(sh_directive *directive, const sh_seating *view, sh_directive_phase phase)
{
    directive->phase = phase;
    directive->view = view->number;
    directive->ring = view->ring;
    directive->planned = view->planned;
    if (phase == SH_DIRECTIVE_HALT)
        return;
    directive->seat_count = view->seat_count;
    memcpy(directive->seats, view->seats, view->seat_count * sizeof *view->seats);
}

bool sh_membership_directive(sh_directive *directive, const sh_membership *membership,
                             uint32_t device)
{
    const sh_roster_entry *one = sh_membership_find(membership, device);
    const sh_seating *now = &membership->now;
    const sh_seat *seat;
    uint32_t stripe;
    if (one == NULL)
        return false;
    *directive = (sh_directive){.serial = one->serial, .dismissed = one->dismissed};
    /* A phase concerns devices with a seat and those that will have one. */
    switch (membership->phase) {
    case SH_MEMBERSHIP_HALTING:
        if (one->seated)
            put_view(directive, &membership->next, SH_DIRECTIVE_HALT);
        break;
    case SH_MEMBERSHIP_RECOVERING:
    case SH_MEMBERSHIP_LINKING:
    case SH_MEMBERSHIP_COMMITTED:
        if (one->seated || sh_membership_expects(membership, device))
            put_view(directive, &membership->next, SH_DIRECTIVE_LINK);
        break;
    case SH_MEMBERSHIP_STEADY:
    case SH_MEMBERSHIP_ENTERING:
        if (!one->seated)
            break;
        put_view(directive, now, SH_DIRECTIVE_GO);
        directive->start = membership->start;
        directive->left = membership->left_ring;
        directive->ends = !now->planned && membership->recovery.ends;
        seat = sh_seat_of(now->seats, now->seat_count, device);
        if (seat != NULL && !now->planned) {
            directive->keep = membership->recovery.keep[seat - now->seats];
            directive->work = membership->recovery.work[seat - now->seats];
        }
        break;
    case SH_MEMBERSHIP_GATHERING:
    case SH_MEMBERSHIP_ENDED:
        break;
    }
    if (one->seated && sh_membership_works(membership))
        sh_membership_order_audit(&directive->audit, membership, device);
    for (uint32_t i = 0; i < membership->transfer_count; i++)
        if (membership->transfers[i].receiver == device ||
            sh_transfer_gives(&stripe, &membership->transfers[i], device))
            directive->transfers[directive->transfer_count++] = membership->transfers[i];
    return true;
}

uint32_t sh_membership_announce(const sh_membership *membership)
{
    if (membership->phase == SH_MEMBERSHIP_COMMITTED)
        return membership->next.number;
    if (membership->phase != SH_MEMBERSHIP_LINKING)
        return 0;
    for (uint32_t i = 0; i < membership->next.seat_count; i++) {
        const sh_roster_entry *one = sh_membership_seated(membership, &membership->next, i);
        if (one->notice.linked != membership->next.number ||
            !sh_membership_is_in_time(membership, one))
            return 0;
    }
    return membership->next.number;
}

bool sh_membership_is_changing(const sh_membership *membership)
{
    return (membership->phase == SH_MEMBERSHIP_LINKING && !membership->testing_links) ||
           (membership->phase == SH_MEMBERSHIP_STEADY && membership->transfer_count > 0);
}

bool sh_membership_moves_replicas(const sh_membership *membership)
{
    return membership->transfer_count > 0 || membership->phase == SH_MEMBERSHIP_HALTING ||
           membership->phase == SH_MEMBERSHIP_RECOVERING;
}

bool sh_membership_has(const sh_membership *membership, uint32_t device)
{
    return membership->phase != SH_MEMBERSHIP_ENDED &&
           sh_membership_find(membership, device) != NULL;
}
