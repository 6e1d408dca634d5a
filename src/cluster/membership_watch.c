/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_watch.h"

#include <stdio.h>

#include "cluster/membership_audit.h"
#include "cluster/membership_losses.h"
#include "cluster/membership_transfers.h"
#include "cluster/membership_views.h"

/* To answer a halt, a waiting device has FOLLOW_MS, or FOLLOW_TIMES its longest pause, from when
 * the answer was due. */
#define FOLLOW_MS 2000
#define FOLLOW_TIMES 4
#define STUCK_MS SH_STALL_LEAST_MS
#define HEARD_MS 1000 /* the activity of one that is silent longer is unknown */
#define READS_MS 1000 /* by then a waiting device has read what came before */
#define FEW_SEATS 3   /* every ring of this size has all links */
#define RESIGN_AGAIN_MS 1000

void sh_membership_watch_begin(const sh_membership *membership, sh_roster_entry *one)
{
    one->waits_ms = membership->clock_ms;
    for (size_t i = 0; i < SH_ACTIVITY_COUNT; i++)
        sh_stall_begin(&one->work[i], membership->clock_ms);
}

void sh_membership_watch_notice(const sh_membership *membership, sh_roster_entry *one,
                                const sh_doing *doing)
{
    if (one->notice.doing.activity != SH_ACTIVITY_WAITS)
        one->waits_ms = membership->clock_ms;
    one->notice.doing = *doing;
    for (size_t i = SH_ACTIVITY_WAITS + 1; i < SH_ACTIVITY_COUNT; i++)
        sh_stall_note(&one->work[i], doing->progress, doing->activity == i, membership->clock_ms);
}

static bool has_company(const sh_membership *membership)
{
    for (uint32_t i = 1; i < membership->slots; i++)
        if (membership->members[i].present && membership->members[i].ready)
            return true;
    return false;
}

static bool is_awaited(const sh_membership *membership, const sh_roster_entry *one)
{
    const bool expected = membership->phase == SH_MEMBERSHIP_RECOVERING &&
                          sh_membership_expects(membership, one->device);
    return one->present && (one->seated || expected) && has_company(membership);
}

static const char *what_it_does(const sh_roster_entry *one)
{
    switch (one->notice.doing.activity) {
    case SH_ACTIVITY_READS:
        return "reads samples";
    case SH_ACTIVITY_TAKES:
        return "receives the replica";
    default:
        return "computes";
    }
}

static const char *remedy_for(const sh_roster_entry *one)
{
    return one->notice.doing.activity == SH_ACTIVITY_READS ? "check its disk"
                                                           : "check what blocks its process";
}

/* ---- devices that hang ----------------------------------------------------------------------- */

static void name(sh_membership *membership, sh_roster_entry *one, uint64_t still_ms)
{
    if (one->named)
        return;
    one->named = true;
    sh_membership_note(
        membership, SH_NEWS_WAITED, one->device,
        "the others wait for device %.64s: it %s, and has made no progress for %.1f s", one->name,
        what_it_does(one), (double)still_ms / 1000);
}

static void resign(sh_membership *membership)
{
    if (membership->clock_ms < membership->resign_ms)
        return;
    membership->resign_ms = membership->clock_ms + RESIGN_AGAIN_MS;
    sh_membership_act(membership, SH_MEMBERSHIP_RESIGN, 0, "%s", "");
}

static void put_out_hung(sh_membership *membership, sh_roster_entry *one, uint64_t still_ms)
{
    char reason[SH_MEMBERSHIP_TEXT];
    snprintf(reason, sizeof reason, "it %s, and made no progress for %.1f s: %s", what_it_does(one),
             (double)still_ms / 1000, remedy_for(one));
    sh_membership_lose(membership, one, reason, SH_LOSS_MESSAGE_FOR_NOW);
}

/* True: a device was evicted or lost its transfer. A silent device is not judged here, because its
 * activity is unknown. */
static bool watch_work(sh_membership *membership, sh_roster_entry *one)
{
    const sh_stall *work = &one->work[one->notice.doing.activity];
    const uint64_t still_ms = sh_stall_ms(work, one->silence.heard_ms);
    const uint64_t limit_ms = sh_stall_limit_ms(work);
    if (still_ms < limit_ms / 2) {
        one->named = false;
        return false;
    }
    if (one->notice.doing.activity == SH_ACTIVITY_TAKES &&
        sh_membership_transfer_to(membership, one->device) != NULL) {
        if (still_ms < limit_ms)
            return false;
        sh_membership_watch_begin(membership, one);
        sh_membership_fail_transfer(membership, one);
        return true;
    }
    name(membership, one, still_ms);
    if (still_ms < limit_ms)
        return false;
    if (one->device == 0) {
        resign(membership);
        return false;
    }
    put_out_hung(membership, one, still_ms);
    return true;
}

/* ---- devices that do not follow -------------------------------------------------------------- */

static bool must_answer(const sh_membership *membership, const sh_roster_entry *one)
{
    if (!one->seated || one->notice.doing.activity != SH_ACTIVITY_WAITS)
        return false;
    if (membership->phase == SH_MEMBERSHIP_HALTING)
        return one->notice.halted < membership->next.number;
    if (sh_membership_works(membership) && sh_membership_awaits_audit(membership, one))
        return true;
    return membership->phase == SH_MEMBERSHIP_ENTERING && !membership->now.planned &&
           one->notice.view != membership->now.number;
}

static void note_debt(const sh_membership *membership, sh_roster_entry *one)
{
    const sh_awaited_answer *before = &one->awaited;
    const sh_notice *notice = &one->notice;
    const sh_awaited_answer awaited = {
        .pending = must_answer(membership, one),
        .halt = membership->phase == SH_MEMBERSHIP_HALTING,
        .halted = notice->halted,
        .view = notice->view,
        .audit = notice->audit.key,
        .round = notice->audit.round,
        .since_ms = membership->clock_ms,
    };
    if (before->pending != awaited.pending || before->halt != awaited.halt ||
        before->halted != awaited.halted || before->view != awaited.view ||
        before->audit != awaited.audit || before->round != awaited.round)
        one->awaited = awaited;
}

static uint64_t follow_limit_ms(const sh_roster_entry *one)
{
    const uint64_t silent_ms = sh_silence_longest_ms(&one->silence);
    const uint64_t still_ms = sh_stall_longest_ms(&one->work[SH_ACTIVITY_COMPUTES]);
    const uint64_t limit_ms = FOLLOW_TIMES * (silent_ms > still_ms ? silent_ms : still_ms);
    return limit_ms < FOLLOW_MS ? FOLLOW_MS : limit_ms;
}

/* Sums that device 0 has already may still be on their way to other devices. */
static uint64_t sums_limit_ms(const sh_membership *membership)
{
    const float step_s = sh_membership_coordinator(membership)->notice.speed.step_s;
    return membership->audit.stage == SH_AUDITING_SUMS && step_s < 3600
               ? (uint64_t)(FOLLOW_TIMES * 1000 * step_s)
               : 0;
}

static bool watch_following(sh_membership *membership, sh_roster_entry *one)
{
    const uint64_t since_ms = membership->clock_ms - one->awaited.since_ms;
    if (!one->awaited.pending || since_ms < follow_limit_ms(one) + sums_limit_ms(membership))
        return false;
    if (one->device == 0) {
        resign(membership);
        return false;
    }
    char reason[SH_MEMBERSHIP_TEXT];
    snprintf(reason, sizeof reason,
             "it did not follow the coordinator for %.1f s: check its network",
             (double)since_ms / 1000);
    sh_membership_lose(membership, one, reason, SH_LOSS_MESSAGE_FOR_NOW);
    return true;
}

/* ---- links that stand still ------------------------------------------------------------------ */

/* Whether `one` cannot deliver the data for which `peer` waits. A busy device reads later, and one
 * whose own link is stuck has no buffer space; neither is a fault of this link. A silent peer is
 * not known to wait. */
static bool is_stuck(const sh_membership *membership, const sh_roster_entry *one,
                     const sh_roster_entry *peer)
{
    const sh_doing *here = &one->notice.doing, *there = &peer->notice.doing;
    return here->stuck_ms >= STUCK_MS && peer->seated && peer != one &&
           membership->clock_ms - membership->watched.since_ms >= STUCK_MS &&
           there->activity == SH_ACTIVITY_WAITS &&
           membership->clock_ms - peer->waits_ms >= READS_MS &&
           sh_silence_ms(&peer->silence, membership->clock_ms) < HEARD_MS &&
           (there->stuck_ms < STUCK_MS || there->stuck_peer == one->device);
}

static bool may_part(const sh_membership *membership, const sh_roster_entry *one,
                     const sh_roster_entry *peer)
{
    return membership->now.seat_count > FEW_SEATS &&
           !sh_membership_is_broken(membership, one->device, peer->device);
}

static bool watch_link(sh_membership *membership, sh_roster_entry *one)
{
    sh_roster_entry *peer = sh_membership_find(membership, one->notice.doing.stuck_peer);
    if (peer == NULL || !sh_membership_works(membership) || !is_stuck(membership, one, peer))
        return false;
    const double seconds = one->notice.doing.stuck_ms / 1000.0;
    if (may_part(membership, one, peer)) {
        sh_membership_note(
            membership, SH_NEWS_WAITED, peer->device,
            "almost no data came from device %.64s to device %.64s for %.1f s: they are separated",
            one->name, peer->name, seconds);
        sh_membership_count_broken(membership, one->device, peer->device, NULL);
        sh_membership_halt(membership);
        return true;
    }
    sh_roster_entry *later = one->device > peer->device ? one : peer;
    char reason[SH_MEMBERSHIP_TEXT];
    snprintf(reason, sizeof reason,
             "almost no data came from device %.64s to device %.64s for %.1f s: check the network "
             "between them",
             one->name, peer->name, seconds);
    sh_membership_lose(membership, later, reason, SH_LOSS_MESSAGE_REFUSAL);
    return true;
}

/* ---- every tick ------------------------------------------------------------------------------ */

static void note_change(sh_membership *membership)
{
    const sh_position position = sh_membership_coordinator(membership)->notice.position;
    const struct sh_membership_watched *before = &membership->watched;
    if (before->phase == membership->phase && before->view == membership->last_view &&
        sh_position_same(before->position, position))
        return;
    membership->watched = (struct sh_membership_watched){membership->phase, membership->last_view,
                                                         position, membership->clock_ms};
}

void sh_membership_watch(sh_membership *membership)
{
    static bool (*const watches[])(sh_membership *,
                                   sh_roster_entry *) = {watch_work, watch_following, watch_link};
    note_change(membership);
    for (uint32_t i = 0; i < membership->slots; i++)
        note_debt(membership, &membership->members[i]);
    for (size_t k = 0; k < sizeof watches / sizeof *watches; k++)
        for (uint32_t i = 0; i < membership->slots; i++) {
            sh_roster_entry *one = &membership->members[i];
            if (membership->phase == SH_MEMBERSHIP_ENDED)
                return;
            if (is_awaited(membership, one) && watches[k](membership, one))
                return;
        }
}
