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

/* How many shares of a step to audit: `part` of them on average. */
static uint32_t draw_shares(const sh_seating *view, double part, uint32_t random)
{
    uint32_t shares = 0;
    for (uint32_t i = 0; i < view->seat_count; i++)
        shares += view->seats[i].share.count > 0;
    const double wanted = part * shares;
    const uint32_t whole = (uint32_t)wanted;
    return whole + ((double)random < (wanted - whole) * 0x1p32);
}

uint32_t sh_membership_draw_audit(sh_membership *membership, uint32_t view, sh_position position,
                                  const uint32_t random[4])
{
    sh_membership_audit *audit = &membership->audit;
    const sh_seating *seating =
        view == membership->now.number ? &membership->now : &membership->next;
    if (!sh_membership_works(membership) || audit->part <= 0 || view != seating->number ||
        seating->seat_count < 2 || position.phase == SH_PHASE_VALIDATION)
        return 0;
    uint32_t shares = draw_shares(seating, audit->part, random[0]);
    if (shares == 0 && audit->due)
        shares = 1;
    if (shares == 0)
        return 0;
    audit->due = audit->unexplained = false;
    audit->key = random[1] | 1;
    audit->stage = SH_AUDITING_SUMS;
    audit->view = view;
    audit->at = position;
    audit->seat = random[2] % seating->seat_count;
    audit->left = shares;
    audit->turn = random[3] % (seating->seat_count - 1);
    audit->share.round = 0;
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

static uint32_t shares_added(const sh_membership *membership)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < membership->now.seat_count; i++)
        count += at_seat(membership, i)->notice.audit.grains.count > 0;
    return count;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* Begins with the share of the first seat from `seat` on that has grains; false: none. */
static bool begin_share(sh_membership *membership)
{
    sh_membership_audit *audit = &membership->audit;
    const sh_seating *now = &membership->now;
    sh_auditor auditors[SH_DEVICES_MAX];
    uint32_t count = 0;
    for (uint32_t past = 0; past < now->seat_count; past++) {
        const uint32_t seat = (audit->seat + past) % now->seat_count;
        const sh_roster_entry *suspect = at_seat(membership, seat);
        if (suspect->notice.audit.grains.count == 0)
            continue;
        for (uint32_t i = 0; i < now->seat_count - 1; i++) {
            const uint32_t place = seat + 1 + (audit->turn + i) % (now->seat_count - 1);
            const sh_seat *other = &now->seats[place % now->seat_count];
            auditors[count++] = (sh_auditor){other->device, other->share.count};
        }
        const uint32_t rounds = audit->share.round;
        audit->seat = seat;
        audit->stage = SH_AUDITING_SHARE;
        sh_audit_begin(&audit->share, rounds, suspect->device, &suspect->notice.audit, auditors,
                       count);
        sh_membership_mark_all_changed(membership);
        return true;
    }
    return false;
}

static void pass(sh_membership *membership)
{
    membership->audit.stage = SH_AUDITING_DONE;
    membership->audit.steps++;
    sh_membership_mark_all_changed(membership);
}

/* No share is wrong, but the sum is. */
static void repeat_step(sh_membership *membership)
{
    membership->faults.not_added = true;
    sh_membership_halt(membership);
}

static void next_share(sh_membership *membership)
{
    sh_membership_audit *audit = &membership->audit;
    audit->shares++;
    audit->left--;
    audit->seat++;
    if (audit->left > 0 && begin_share(membership))
        return;
    if (audit->unexplained)
        repeat_step(membership);
    else
        pass(membership);
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
    const sh_audit audit = membership->audit.share; /* a loss drops it */
    const unsigned long long step = membership->audit.at.steps + 1;
    char why[SH_MEMBERSHIP_TEXT];
    if (audit.agreed > 1)
        snprintf(why, sizeof why, "in the audit of step %llu %u devices agree on other results",
                 step, audit.agreed);
    else
        snprintf(why, sizeof why,
                 "in the audit of step %llu the coordinator has other results, and no third device "
                 "could decide",
                 step);
    for (uint32_t i = 0; i < audit.liar_count; i++) {
        sh_roster_entry *one = sh_membership_find(membership, audit.liars[i]);
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

static void check_answers(sh_membership *membership)
{
    sh_audit *share = &membership->audit.share;
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        const sh_roster_entry *one = at_seat(membership, i);
        if (!has_reported(membership, one))
            continue;
        switch (sh_audit_answer(share, one->device, one->notice.audit.round,
                                &one->notice.audit.answer)) {
        case SH_AUDIT_WAITS:
            break;
        case SH_AUDIT_NEXT:
            sh_membership_mark_all_changed(membership);
            return; /* nobody has answered the new round yet */
        case SH_AUDIT_HONEST:
            next_share(membership);
            return;
        case SH_AUDIT_LIARS:
            name_liars(membership);
            return;
        }
    }
}

void sh_membership_check_audit(sh_membership *membership)
{
    sh_membership_audit *audit = &membership->audit;
    if (audit->view != membership->now.number)
        return; /* device 0 has not reported that it is there */
    if (audit->stage == SH_AUDITING_SHARE)
        check_answers(membership);
    if (audit->stage != SH_AUDITING_SUMS)
        return;
    for (uint32_t i = 0; i < membership->now.seat_count; i++)
        if (!has_reported(membership, at_seat(membership, i)))
            return;
    if (name_idle_liar(membership))
        return;
    audit->unexplained = !adds_up(membership);
    if (audit->unexplained)
        audit->left = shares_added(membership);
    if (!begin_share(membership))
        repeat_step(membership); /* nobody says that it added anything */
}

/* ---- orders ---------------------------------------------------------------------------------- */

void sh_membership_order_audit(sh_audit_order *order, const sh_membership *membership,
                               uint32_t device)
{
    const sh_membership_audit *audit = &membership->audit;
    *order = (sh_audit_order){.key = audit->key, .passed = audit->stage == SH_AUDITING_DONE};
    if (audit->stage == SH_AUDITING_SHARE)
        (void)sh_audit_order_of(order, &audit->share, device);
}

bool sh_membership_awaits_audit(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_membership_audit *audit = &membership->audit;
    sh_audit_order order = {0};
    if (audit->stage == SH_AUDITING_SUMS)
        return has_reported(membership, sh_membership_coordinator(membership)) &&
               !has_reported(membership, one);
    return audit->stage == SH_AUDITING_SHARE && has_reported(membership, one) &&
           sh_audit_order_of(&order, &audit->share, one->device) &&
           one->notice.audit.round < order.round;
}
