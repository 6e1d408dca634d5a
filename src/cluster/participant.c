/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device is in a view (notice.view) once it may make stages there. It enters by the trailer, when
 * it completes a stage whose trailer names the view and it knows the seats; or by a GO, when its
 * replica is complete, at the start, and no task is running; whichever comes first. A device
 * without a seat in the view of the trailer is in no view and waits to be dismissed. Its ring
 * remains, because others may not have all of the last stage yet; so does the previous ring until a
 * stage of the new view is complete, which needs all its devices.
 *
 * A HALT is carried out in this order: the loop aborts the rings, the step's thread returns from
 * its stage and computes the check, and then the notice says `halted`. The device's state does not
 * change after that until a GO or a transfer.
 */
#include "cluster/participant.h"

#include <assert.h>
#include <string.h>

void sh_participant_init(sh_participant *participant, uint32_t device)
{
    memset(participant, 0, sizeof *participant);
    participant->device = device;
    participant->notice.serial = 1;
    participant->notice.life = SH_LIFE_PREPARING;
    participant->under_way = SH_TASK_WAIT;
}

/* The view for which all halt; 0 if the current change is planned, or there is none. */
static uint32_t halt_view(const sh_participant *participant)
{
    const sh_directive *directive = &participant->directive;
    const bool unplanned = directive->phase != SH_DIRECTIVE_NONE && !directive->planned;
    return unplanned ? directive->view : 0;
}

static bool must_halt(const sh_participant *participant)
{
    const uint32_t view = halt_view(participant);
    return participant->notice.halted < view && participant->notice.view < view;
}

static void halt(sh_participant *participant)
{
    participant->notice.halted = halt_view(participant);
    participant->notice.audit = (sh_audit_report){0};
    participant->stalled = true;
}

/* This device's seat in the directive's view, and the transfer to it; NULL: none. */
static const sh_seat *own_seat(const sh_participant *participant)
{
    const sh_directive *directive = &participant->directive;
    return sh_seat_of(directive->seats, directive->seat_count, participant->device);
}

static const sh_transfer *own_transfer(const sh_participant *participant)
{
    const sh_directive *directive = &participant->directive;
    return sh_transfer_to(directive->transfers, directive->transfer_count, participant->device);
}

/* The transfer that this device must receive and has not received; NULL: none. */
static const sh_transfer *wanted_transfer(const sh_participant *participant)
{
    const sh_transfer *taking = own_transfer(participant);
    if (taking == NULL || taking->number <= participant->notice.fetched ||
        taking->number <= participant->notice.failed)
        return NULL;
    return taking;
}

static void enter(sh_participant *participant)
{
    const sh_directive *directive = &participant->directive;
    participant->previous = directive->planned ? participant->ring : 0;
    participant->notice.view = participant->entered = directive->view;
    participant->ring = directive->ring;
    participant->devices = directive->seat_count;
    participant->share = own_seat(participant)->share;
    participant->stalled = false;
    participant->fetching = 0;
    participant->dealt = participant->keep = false;
}

/* Applies the transitions that are due. */
static void settle(sh_participant *participant)
{
    const sh_directive *directive = &participant->directive;
    sh_notice *notice = &participant->notice;
    const sh_transfer *taking = own_transfer(participant);
    if (participant->fetching != 0 && (taking == NULL || taking->number != participant->fetching))
        participant->fetching = 0;
    /* Others may still need the previous view's ring; a leaving device's work ends with it. */
    if (!directive->planned || directive->view != notice->view ||
        (directive->phase != SH_DIRECTIVE_LINK && directive->left != participant->previous))
        participant->previous = 0;
    if (directive->phase == SH_DIRECTIVE_NONE && notice->view == 0)
        participant->ring = 0; /* on standby: its links are closed */
    if (must_halt(participant) && participant->under_way == SH_TASK_WAIT && !notice->whole)
        halt(participant);
    if (directive->phase == SH_DIRECTIVE_LINK && notice->linked < directive->view &&
        own_seat(participant) != NULL &&
        (directive->seat_count == 1 ||
         (directive->ring != directive->view && directive->ring == participant->ring &&
          !participant->stalled)))
        notice->linked = directive->view;

    /* A GO is followed once, when its conditions hold. The GO of a view that the device has left
     * remains here until the next directive. */
    const bool same = sh_position_same(notice->position, directive->start);
    if (directive->phase != SH_DIRECTIVE_GO || participant->abandoned ||
        participant->entered >= directive->view || participant->under_way != SH_TASK_WAIT ||
        !notice->whole || wanted_transfer(participant) != NULL || must_halt(participant) ||
        own_seat(participant) == NULL ||
        !(directive->planned ? same : sh_position_reaches(notice->position, directive->start)))
        return;
    enter(participant);
    if (directive->planned)
        return;
    if (!same) {
        notice->position = directive->start;
        notice->grains = 0;
        notice->held.count = 0;
        notice->life = SH_LIFE_READY;
    }
    if (directive->ends)
        notice->life = SH_LIFE_FINISHED;
    participant->dealt = directive->start.phase != SH_PHASE_VALIDATION;
    participant->keep = participant->dealt && directive->keep && notice->held.count > 0;
    participant->work = directive->work;
    if (!participant->keep)
        notice->held.count = 0;
}

static void stage_ended(sh_participant *participant, const sh_participant_event *event)
{
    participant->under_way = SH_TASK_WAIT;
    participant->dealt = participant->keep = false;
    participant->notice.held.count = 0;
    participant->notice.audit = (sh_audit_report){0};
    participant->notice.own_not_finite = event->own_not_finite;
    participant->notice.own_check = event->kind == SH_PARTICIPANT_PASSED ? 0 : event->own_check;
    if (event->held != NULL)
        participant->notice.held = *event->held;
}

static void handle_passed(sh_participant *participant, const sh_participant_event *event)
{
    sh_notice *notice = &participant->notice;
    const sh_directive *directive = &participant->directive;
    stage_ended(participant, event);
    notice->held.count = 0;
    notice->position = event->position;
    notice->grains = event->grains;
    notice->speed = event->speed;
    if (event->finished)
        notice->life = SH_LIFE_FINISHED;
    if (event->next_view <= notice->view || directive->view > event->next_view)
        return; /* none, or a HALT has overtaken it */
    if (directive->view == event->next_view && directive->planned && own_seat(participant) != NULL)
        enter(participant);
    else
        notice->view = 0;
}

static void handle_link_broken(sh_participant *participant, const sh_participant_event *event)
{
    sh_notice *notice = &participant->notice;
    const sh_directive *directive = &participant->directive;
    const bool works = notice->view != 0 && event->view == participant->ring &&
                       event->view >= halt_view(participant);
    const bool links = directive->phase >= SH_DIRECTIVE_LINK && event->view == directive->ring;
    if (!works && !links)
        return; /* that ring is no longer needed */
    if (!works && directive->planned && notice->broken == participant->ring)
        return; /* the current ring's break takes precedence */
    notice->broken = event->view;
    notice->broken_peer = event->peer;
    if (works)
        participant->stalled = true;
}

static void handle_fetched(sh_participant *participant, const sh_participant_event *event)
{
    sh_notice *notice = &participant->notice;
    if (event->transfer != participant->fetching || participant->fetching == 0)
        return; /* a cancelled transfer */
    if (event->kind == SH_PARTICIPANT_FETCHING) {
        notice->receiving = event->transfer;
        notice->left_ms = event->left_ms;
        return;
    }
    if (event->kind == SH_PARTICIPANT_FETCH_FAILED) {
        notice->whole = false;
        notice->failed = event->transfer;
        participant->fetching = 0;
        return;
    }
    notice->whole = true;
    notice->fetched = event->transfer;
    const sh_transfer *taking = own_transfer(participant);
    if (taking != NULL && !taking->live) /* it has all data: the transfer can no longer fail */
        participant->fetching = 0;
    notice->position = event->position;
    notice->grains = event->grains;
}

void sh_participant_handle(sh_participant *participant, const sh_participant_event *event)
{
    sh_notice *notice = &participant->notice;
    switch (event->kind) {
    case SH_PARTICIPANT_DIRECTIVE:
        if (event->directive->serial <= participant->directive.serial)
            return;
        participant->directive = *event->directive;
        break;
    case SH_PARTICIPANT_PREPARED:
        notice->life = SH_LIFE_READY;
        notice->whole = event->whole;
        notice->position = event->position;
        notice->grains = event->grains;
        notice->speed = event->speed;
        break;
    case SH_PARTICIPANT_PASSED:
        assert(participant->under_way == SH_TASK_RUN);
        handle_passed(participant, event);
        break;
    case SH_PARTICIPANT_REDONE:
        assert(participant->under_way == SH_TASK_RUN);
        notice->position = event->position;
        break;
    case SH_PARTICIPANT_AWAITS:
        assert(participant->under_way == SH_TASK_RUN);
        stage_ended(participant, event);
        notice->own_check = 0;
        notice->audit = *event->audit;
        break;
    case SH_PARTICIPANT_AUDITED:
        assert(participant->under_way == SH_TASK_AUDIT);
        participant->under_way = SH_TASK_WAIT;
        notice->audit.round = participant->answering;
        notice->audit.answer = *event->answer;
        break;
    case SH_PARTICIPANT_STOPPED:
    case SH_PARTICIPANT_DIFFERED:
    case SH_PARTICIPANT_NOT_FINITE:
        assert(participant->under_way == SH_TASK_RUN ||
               (participant->under_way == SH_TASK_AUDIT && event->kind == SH_PARTICIPANT_STOPPED));
        stage_ended(participant, event);
        participant->stalled = true;
        if (event->kind == SH_PARTICIPANT_DIFFERED) {
            notice->differing = notice->view;
            notice->total = event->total;
        }
        if (event->kind == SH_PARTICIPANT_NOT_FINITE)
            notice->not_finite = notice->view;
        break;
    case SH_PARTICIPANT_CHECKED:
        assert(participant->under_way == SH_TASK_CHECK);
        participant->under_way = SH_TASK_WAIT;
        notice->check = event->check;
        if (must_halt(participant))
            halt(participant);
        break;
    case SH_PARTICIPANT_LINKED:
        if (event->view > notice->linked)
            notice->linked = event->view;
        break;
    case SH_PARTICIPANT_LINK_BROKEN:
        handle_link_broken(participant, event);
        break;
    case SH_PARTICIPANT_FETCHING:
    case SH_PARTICIPANT_FETCHED:
    case SH_PARTICIPANT_FETCH_FAILED:
        handle_fetched(participant, event);
        break;
    case SH_PARTICIPANT_LEAVE:
        notice->leaving = true;
        break;
    case SH_PARTICIPANT_ABANDONED:
        participant->abandoned = participant->stalled = true;
        break;
    }
    settle(participant);
    notice->serial++;
}

static bool passed_audit(const sh_participant *participant)
{
    const sh_audit_order *order = &participant->directive.audit;
    return order->key == participant->notice.audit.key && order->passed;
}

/* The next round of the audit for which the device waits. */
static sh_task answer_audit(sh_participant *participant)
{
    const sh_audit_order *order = &participant->directive.audit;
    sh_notice *notice = &participant->notice;
    if (order->key != notice->audit.key || order->round <= notice->audit.round)
        return (sh_task){.kind = SH_TASK_WAIT};
    participant->under_way = SH_TASK_AUDIT;
    participant->answering = order->round;
    notice->held.count = 0; /* the own part of the sum is about to be overwritten */
    notice->serial++;
    return (sh_task){.kind = SH_TASK_AUDIT, .work = order->grains};
}

sh_task sh_participant_take(sh_participant *participant)
{
    sh_notice *notice = &participant->notice;
    assert(participant->under_way == SH_TASK_WAIT);
    if (participant->directive.dismissed)
        return (sh_task){.kind = SH_TASK_END};
    if (participant->abandoned)
        return (sh_task){.kind = SH_TASK_WAIT};
    if (must_halt(participant)) { /* it is complete: otherwise it would have halted */
        participant->under_way = SH_TASK_CHECK;
        return (sh_task){.kind = SH_TASK_CHECK};
    }
    const sh_transfer *transfer = wanted_transfer(participant);
    if (transfer != NULL && transfer->number != participant->fetching) {
        participant->fetching = transfer->number;
        notice->whole = false; /* the replica is about to be overwritten */
        notice->held.count = 0;
        if (notice->life == SH_LIFE_FINISHED)
            notice->life = SH_LIFE_READY;
        notice->serial++;
        return (sh_task){.kind = SH_TASK_FETCH, .transfer = *transfer};
    }
    if (transfer != NULL || notice->view == 0 || participant->stalled || !notice->whole ||
        notice->life != SH_LIFE_READY)
        return (sh_task){.kind = SH_TASK_WAIT};
    const bool resume = notice->audit.key != 0;
    if (resume && !passed_audit(participant))
        return answer_audit(participant);
    participant->under_way = SH_TASK_RUN;
    return (sh_task){.kind = SH_TASK_RUN,
                     .resume = resume,
                     .view = notice->view,
                     .ring = participant->ring,
                     .devices = participant->devices,
                     .position = notice->position,
                     .dealt = participant->dealt,
                     .keep = participant->keep,
                     .work = participant->dealt ? participant->work : (sh_ranges){0},
                     .share = participant->share};
}

uint32_t sh_participant_link(const sh_participant *participant)
{
    const sh_directive *directive = &participant->directive;
    const sh_notice *notice = &participant->notice;
    const bool wanted = directive->phase == SH_DIRECTIVE_LINK && !participant->abandoned &&
                        directive->ring == directive->view && notice->linked < directive->view &&
                        notice->broken != directive->view && !must_halt(participant) &&
                        own_seat(participant) != NULL;
    return wanted ? directive->view : 0;
}

bool sh_participant_needs_ring(const sh_participant *participant, uint32_t ring)
{
    const sh_directive *directive = &participant->directive;
    if (ring == 0 || directive->dismissed || participant->abandoned)
        return false;
    if (directive->phase >= SH_DIRECTIVE_LINK && ring == directive->ring)
        return true;
    return ring >= halt_view(participant) &&
           (ring == participant->ring || ring == participant->previous);
}
