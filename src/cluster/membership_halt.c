/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device is *wrong* at a halt if its replica is not the majority's, or if the checks in the sum
 * disagreed and cluster/blame names it. It is repaired, or the stage is repeated, and the fault is
 * counted (cluster/repairs). Too many faults evict it, or end the job if it is device 0.
 *
 * If checks disagree and no device can be named, one reports something other than it adds, or its
 * memory corrupts what it forwards. The stage is repeated a few times; then devices are left out
 * one at a time, the newest first, and may rejoin. The device without which a step succeeds was the
 * faulty one.
 *
 * If two devices differ in their weights, nothing shows which is right, so the job ends; it can
 * resume from its last checkpoint, which was written while all agreed.
 */
#include "cluster/membership_halt.h"

#include <stdio.h>

#include "cluster/blame.h"
#include "cluster/membership_losses.h"
#include "cluster/membership_numbers.h"

#define WRONG "its memory or processor computes wrongly"

static void end_torn(sh_membership *membership)
{
    char names[SH_MEMBERSHIP_TEXT] = "", text[2 * SH_MEMBERSHIP_TEXT];
    size_t length = 0;
    for (uint32_t i = 0; i < membership->next.seat_count && length < sizeof names; i++)
        if (membership->recovery.agreement[i] == SH_REPLICA_AT)
            length += (size_t)snprintf(
                names + length, sizeof names - length, "%s%.64s", length > 0 ? ", " : "",
                sh_membership_seated(membership, &membership->next, i)->name);
    snprintf(text, sizeof text,
             "the weights of %s differ after step %llu, and no majority shows which are right: one "
             "has faulty memory; continue from the checkpoint with --resume",
             names, (unsigned long long)membership->recovery.target.steps);
    sh_membership_end(membership, SH_DIVERGED, text);
}

static bool all_have_halted(const sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->slots; i++) {
        const sh_roster_entry *one = &membership->members[i];
        if (one->present && one->seated && one->notice.halted < membership->next.number)
            return false;
    }
    return true;
}

/* Counts a fault, once per halt. */
static sh_finding count_fault(sh_membership *membership, sh_roster_entry *one, const char *what)
{
    const unsigned long long steps = membership->recovery.target.steps;
    char reason[SH_MEMBERSHIP_TEXT];
    if (one->fault_view == membership->next.number)
        return SH_FINDING_NOBODY;
    one->fault_view = membership->next.number;
    if (!sh_repairs_add_fault(&one->repairs, steps))
        return SH_FINDING_NOBODY;
    if (one->device == 0) {
        snprintf(reason, sizeof reason,
                 "%s differed from the other devices' %u times, last at step %llu: " WRONG
                 "; continue from the checkpoint with --resume, on another device",
                 what, one->repairs.lately, steps);
        sh_membership_end(membership, SH_DIVERGED, reason);
        return SH_FINDING_END;
    }
    if (one->repairs.again)
        snprintf(reason, sizeof reason, "it rejoined, and %s differs again at step %llu: " WRONG,
                 what, steps);
    else
        snprintf(reason, sizeof reason, "%s differed %u times, last at step %llu: " WRONG, what,
                 one->repairs.lately, steps);
    sh_membership_evict(membership, one, reason, false);
    return SH_FINDING_OUT;
}

/* Counts replicas that differ from the majority's. One that was found odd already, and not restored
 * since because another device was lost, is no further fault. */
static sh_finding look_for_odd_replicas(sh_membership *membership, bool *odd)
{
    for (uint32_t i = 0; i < membership->next.seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->next, i);
        const bool counted = one->fault_view == membership->next.number;
        if (membership->recovery.agreement[i] != SH_REPLICA_ODD)
            continue;
        *odd = true;
        if (one->odd_replica == one->notice.fetched + 1)
            continue;
        one->odd_replica = one->notice.fetched + 1;
        const sh_finding found = count_fault(membership, one, "its replica");
        if (found != SH_FINDING_NOBODY)
            return found;
        if (!counted)
            sh_membership_note(membership, SH_NEWS_REPAIRED, one->device,
                               "the replica of device %.64s differed from the others at step %llu: "
                               "it is restored from %s",
                               one->name, (unsigned long long)membership->recovery.target.steps,
                               one->repairs.faults > 1 ? "only one of them" : "them");
    }
    return SH_FINDING_NOBODY;
}

static sh_finding try_without_one(sh_membership *membership, const char *what)
{
    char reason[SH_MEMBERSHIP_TEXT];
    if (!sh_repairs_add_fault(&membership->faults.unexplained, membership->recovery.target.steps))
        return SH_FINDING_NOBODY;
    sh_roster_entry *newest = NULL;
    for (uint32_t i = 0; i < membership->next.seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->next, i);
        if (one->device != 0 && (newest == NULL || one->device > newest->device))
            newest = one;
    }
    if (newest == NULL)
        return SH_FINDING_NOBODY;
    snprintf(membership->faults.suspect, sizeof membership->faults.suspect, "%s", newest->name);
    snprintf(reason, sizeof reason, "%s: the others try without this device, which may rejoin",
             what);
    sh_membership_lose(membership, newest, reason, SH_LOSS_MESSAGE_FOR_NOW);
    return SH_FINDING_OUT;
}

static sh_blame_report report_of(const sh_membership *membership, uint32_t i, uint32_t view)
{
    const sh_notice *notice = &sh_membership_seated(membership, &membership->next, i)->notice;
    const bool at = membership->recovery.agreement[i] == SH_REPLICA_AT;
    return (sh_blame_report){
        .there = at && sh_position_same(notice->position, membership->recovery.target) &&
                 !sh_position_before(membership->faults.differed_at, notice->position),
        .passed = notice->whole && notice->differing < view &&
                  sh_position_before(membership->faults.differed_at, notice->position),
        .differed = notice->differing >= view,
        .own_check = notice->own_check,
        .total = notice->total,
    };
}

static sh_finding look_for_odd_words(sh_membership *membership)
{
    const uint32_t count = membership->next.seat_count;
    sh_blame_report reports[SH_DEVICES_MAX];
    bool odd[SH_DEVICES_MAX] = {false};
    uint64_t check = 0;
    for (uint32_t i = 0; i < count; i++) {
        reports[i] = report_of(membership, i, membership->now.number);
        if (reports[i].there)
            check = sh_membership_seated(membership, &membership->next, i)->notice.check;
    }
    if (sh_blame_find(odd, reports, count, check, membership->now.seat_count) == 0)
        return try_without_one(membership, "the checks of the weights disagree in the sums, but "
                                           "the weights agree");
    for (uint32_t i = 0; i < count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->next, i);
        const bool counted = one->fault_view == membership->next.number;
        if (!odd[i])
            continue;
        const sh_finding found = count_fault(membership, one, "its check of the weights in a sum");
        if (found != SH_FINDING_NOBODY)
            return found;
        if (!counted)
            sh_membership_note(membership, SH_NEWS_REPAIRED, one->device,
                               "device %.64s reported a wrong check of its weights in the sum at "
                               "step %llu: the stage is repeated",
                               one->name, (unsigned long long)membership->recovery.target.steps);
    }
    return SH_FINDING_NOBODY;
}

static sh_finding judge(sh_membership *membership, sh_survivor *survivors)
{
    sh_seating *next = &membership->next;
    next->seat_count = 0;
    sh_membership_seat_all(membership, next);
    for (uint32_t i = 0; i < next->seat_count; i++) {
        const sh_roster_entry *one = sh_membership_seated(membership, next, i);
        survivors[i] = (sh_survivor){one->device, &one->notice, one->proven};
    }
    if (!sh_recovery_judge(&membership->recovery, survivors, next->seat_count)) {
        sh_membership_end(membership, SH_ABORTED,
                          "the device with the last complete replica was lost: continue from the "
                          "checkpoint with --resume");
        return SH_FINDING_END;
    }
    if (membership->recovery.no_majority) {
        end_torn(membership);
        return SH_FINDING_END;
    }
    bool odd = false;
    sh_finding found = look_for_odd_replicas(membership, &odd);
    membership->faults.differed = membership->faults.differed && !odd;
    if (found == SH_FINDING_NOBODY && membership->faults.differed) {
        membership->faults.differed = false; /* examined once */
        membership->faults.restart = true;
        found = look_for_odd_words(membership);
    }
    if (found == SH_FINDING_NOBODY && membership->faults.not_added) {
        membership->faults.not_added = false;
        membership->faults.restart = true;
        found = try_without_one(membership, "an audit shows that a sum is not what the devices "
                                            "added, but that all their shares are right");
    }
    return found != SH_FINDING_NOBODY ? found : sh_membership_check_numbers(membership);
}

void sh_membership_check_halted(sh_membership *membership)
{
    sh_seating *next = &membership->next;
    sh_survivor survivors[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    sh_finding found = SH_FINDING_OUT;
    if (!all_have_halted(membership))
        return;
    sh_membership_prove(membership); /* the halt's notices report its last steps */
    for (uint32_t out = 0; found == SH_FINDING_OUT; out++) {
        if (out == SH_MEMBERSHIP_LOST_MAX || membership->phase == SH_MEMBERSHIP_ENDED)
            return; /* continues at the next event */
        found = judge(membership, survivors);
    }
    if (found == SH_FINDING_END)
        return;
    sh_membership_deal_shares(membership, next);
    for (uint32_t i = 0; i < next->seat_count; i++)
        shares[i] = next->seats[i].share;
    sh_membership_spare_suspect(membership, shares);
    sh_recovery_deal(&membership->recovery, survivors, next->seat_count, shares, membership->grains,
                     membership->faults.restart);
    membership->faults.differed = membership->faults.restart = false;
    membership->phase = SH_MEMBERSHIP_RECOVERING;
    sh_membership_mark_all_changed(membership);
}

void sh_membership_note_step(sh_membership *membership, uint64_t steps)
{
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->now, i);
        if (one == NULL)
            continue;
        one->failures = 0;
        sh_repairs_passed(&one->repairs, steps);
    }
    sh_repairs_passed(&membership->faults.unexplained, steps);
    sh_membership_numbers_passed(membership);
    if (membership->faults.suspect[0] == '\0')
        return;
    sh_membership_note(membership, SH_NEWS_DEFECT, SH_MEMBERSHIP_ALL,
                       "without device %.64s the checks in the sums agree: " WRONG,
                       membership->faults.suspect);
    sh_membership_remember(membership, membership->faults.suspect, true);
    membership->faults.suspect[0] = '\0';
}
