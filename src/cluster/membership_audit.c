/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_audit.h"

#include <stdio.h>
#include <string.h>

#include "cluster/membership_losses.h"

static sh_roster_entry *at_seat(const sh_membership *membership, uint32_t seat)
{
    return sh_membership_seated(membership, &membership->now, seat);
}

static bool has_reported(const sh_membership *membership, const sh_roster_entry *one)
{
    return one != NULL && one->notice.audit.key == membership->audit.key;
}

/* ---- drawing --------------------------------------------------------------------------------- */

uint32_t sh_membership_draw_audit(sh_membership *membership, uint32_t view, sh_position position,
                                  const uint32_t random[4])
{
    sh_membership_audit *audit = &membership->audit;
    const sh_seating *seating =
        view == membership->now.number ? &membership->now : &membership->next;
    if (!sh_membership_works(membership) || audit->part <= 0 || view != seating->number ||
        seating->seat_count < 2 || position.phase == SH_PHASE_VALIDATION)
        return 0;
    if (!audit->due && (double)random[0] >= audit->part * 0x1p32)
        return 0;
    audit->due = audit->unexplained = false;
    audit->key = random[1] | 1;
    audit->stage = SH_AUDITING_SUMS;
    audit->view = view;
    audit->at = position;
    audit->seed = (uint64_t)random[2] << 32 | random[3];
    return audit->key;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Whether what the devices committed to is the sum, and their grains are the step's. */
static bool adds_up(const sh_membership *membership)
{
    const sh_notice *zero = &sh_membership_coordinator(membership)->notice;
    sh_ranges all = {0}, missing;
    sh_sum_check sum = {0};
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        const sh_audit_report *report = &at_seat(membership, i)->notice.audit;
        sh_sum_check_merge(&sum, &report->own);
        if (sh_ranges_overlap(&all, &report->grains) || !sh_ranges_add_all(&all, &report->grains))
            return false;
    }
    /* Device 0's total is right: a wrong total gives other weights, which the next step finds. */
    return sh_ranges_total(&all) == zero->grains &&
           sh_ranges_complement(&missing, &all, zero->grains) && missing.count == 0 &&
           sh_sum_check_equal(&sum, &zero->audit.total);
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* Deals all shares as their devices committed to them: what a device reports later about its own
 * share does not count. False: nobody says that it added anything. */
static bool begin_recount(sh_membership *membership)
{
    sh_membership_audit *audit = &membership->audit;
    sh_recount_begin(&audit->recount);
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        const sh_roster_entry *one = at_seat(membership, i);
        sh_recount_add(&audit->recount, one->device, &one->notice.audit);
    }
    if (!sh_recount_deal(&audit->recount, audit->seed))
        return false;
    audit->stage = SH_AUDITING_SHARES;
    sh_membership_mark_all_changed(membership);
    return true;
}

static void pass(sh_membership *membership)
{
    membership->audit.stage = SH_AUDITING_DONE;
    membership->audit.steps++;
    membership->audit.shares += sh_recount_shares(&membership->audit.recount);
    sh_membership_mark_all_changed(membership);
}

/* No share is wrong, but the sum is. */
static void repeat_step(sh_membership *membership)
{
    membership->faults.not_added = true;
    sh_membership_halt(membership);
}

/* Evicts a device that computed wrongly, so that the step is repeated; ends the job for device 0.
 */
static void expel(sh_membership *membership, sh_roster_entry *one, const char *why)
{
    char reason[SH_MEMBERSHIP_TEXT];
    if (one->device == 0) {
        snprintf(reason, sizeof reason,
                 "this device computes wrongly: %.150s; continue from the checkpoint with "
                 "--resume, on another device",
                 why);
        sh_membership_end(membership, SH_DIVERGED, reason);
        return;
    }
    membership->audit.named++;
    snprintf(reason, sizeof reason, "it computes wrongly or lies: %.150s", why);
    sh_membership_evict(membership, one, reason, true);
}

static void name_liars(sh_membership *membership)
{
    const sh_dispute dispute = membership->audit.dispute; /* a loss drops it */
    const unsigned long long step = membership->audit.at.steps + 1;
    char why[SH_MEMBERSHIP_TEXT];
    if (dispute.agreed > 1)
        snprintf(why, sizeof why, "in the audit of step %llu %u devices agree on other results",
                 step, dispute.agreed);
    else
        snprintf(why, sizeof why,
                 "in the audit of step %llu the coordinator has other results, and no third device "
                 "could decide",
                 step);
    for (uint32_t i = 0; i < dispute.liar_count; i++) {
        sh_roster_entry *one = sh_membership_find(membership, dispute.liars[i]);
        if (one != NULL && membership->phase != SH_MEMBERSHIP_ENDED)
            expel(membership, one, why);
    }
}

/* Expels a device that added something although it has no grains; false: there is none. */
static bool name_idle_liar(sh_membership *membership)
{
    static const sh_sum_check nothing = {{0}};
    char why[SH_MEMBERSHIP_TEXT];
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        sh_roster_entry *one = at_seat(membership, i);
        const sh_audit_report *report = &one->notice.audit;
        if (report->grains.count > 0 || sh_sum_check_equal(&report->own, &nothing))
            continue;
        snprintf(why, sizeof why, "it added to the sum of step %llu, but computed no grain of it",
                 (unsigned long long)membership->audit.at.steps + 1);
        expel(membership, one, why);
        return true;
    }
    return false;
}

/* Some answer to the recount is new: proceeds if it was the last. */
static void check_recount(sh_membership *membership)
{
    sh_membership_audit *audit = &membership->audit;
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        sh_roster_entry *one = at_seat(membership, i);
        const sh_audit_report *report = &one->notice.audit;
        if (has_reported(membership, one) &&
            sh_recount_answer(&audit->recount, one->device, report->round, &report->answer))
            sh_membership_mark_changed(membership, one);
    }
    if (!sh_recount_is_complete(&audit->recount))
        return;
    const sh_recount_share *wrong = sh_recount_find_wrong(&audit->recount);
    if (wrong != NULL) {
        sh_dispute_begin(&audit->dispute, &audit->recount, wrong);
        audit->stage = SH_AUDITING_DISPUTE;
        sh_membership_mark_all_changed(membership);
    } else if (audit->unexplained) {
        repeat_step(membership);
    } else {
        pass(membership);
    }
}

static void check_dispute(sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        const sh_roster_entry *one = at_seat(membership, i);
        if (!has_reported(membership, one))
            continue;
        switch (sh_dispute_answer(&membership->audit.dispute, one->device, one->notice.audit.round,
                                  &one->notice.audit.answer)) {
        case SH_DISPUTE_WAITS:
            break;
        case SH_DISPUTE_NEXT:
            sh_membership_mark_all_changed(membership);
            return; /* nobody has answered the new round yet */
        case SH_DISPUTE_SETTLED:
            name_liars(membership);
            return;
        }
    }
}

static void check_sums(sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->now.seat_count; i++)
        if (!has_reported(membership, at_seat(membership, i)))
            return;
    if (name_idle_liar(membership))
        return;
    membership->audit.unexplained = !adds_up(membership);
    if (!begin_recount(membership))
        repeat_step(membership);
}

void sh_membership_check_audit(sh_membership *membership)
{
    if (membership->audit.view != membership->now.number)
        return; /* device 0 has not reported that it is there */
    switch (membership->audit.stage) {
    case SH_AUDITING_SUMS:
        check_sums(membership);
        break;
    case SH_AUDITING_SHARES:
        check_recount(membership);
        break;
    case SH_AUDITING_DISPUTE:
        check_dispute(membership);
        break;
    case SH_AUDITING_NOTHING:
    case SH_AUDITING_DONE:
        break;
    }
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* What a device has to compute now; false: nothing. */
static bool round_of(sh_audit_order *order, const sh_membership_audit *audit, uint32_t device)
{
    if (audit->stage == SH_AUDITING_SHARES)
        return sh_recount_order_of(order, &audit->recount, device);
    return audit->stage == SH_AUDITING_DISPUTE &&
           sh_dispute_order_of(order, &audit->dispute, device);
}

void sh_membership_order_audit(sh_audit_order *order, const sh_membership *membership,
                               uint32_t device)
{
    const sh_membership_audit *audit = &membership->audit;
    *order = (sh_audit_order){.key = audit->key, .passed = audit->stage == SH_AUDITING_DONE};
    (void)round_of(order, audit, device);
}

bool sh_membership_awaits_audit(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_membership_audit *audit = &membership->audit;
    sh_audit_order order = {0};
    if (audit->stage == SH_AUDITING_SUMS)
        return has_reported(membership, sh_membership_coordinator(membership)) &&
               !has_reported(membership, one);
    return has_reported(membership, one) && round_of(&order, audit, one->device) &&
           one->notice.audit.round < order.round;
}
