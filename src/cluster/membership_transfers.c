/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_transfers.h"

#define FOLLOWED_MOST 0.5 /* of a link's rate, for live transfers */
#define KEEPERS 2         /* devices besides device 0 that keep the weights */
#define KEEP_MS 10000     /* least time between two transfers to a standby device, */
#define KEEP_TIMES 100    /* also in durations of the last one */
#define LOST_MS 6000      /* assumed duration of a failed one */

void sh_membership_drop_transfer(sh_membership *membership, const sh_transfer *transfer)
{
    const sh_transfer gone = *transfer;
    uint32_t stripe;
    membership->transfers[transfer - membership->transfers] =
        membership->transfers[--membership->transfer_count];
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (one->present &&
            (one->device == gone.receiver || sh_transfer_gives(&stripe, &gone, one->device)))
            sh_membership_mark_changed(membership, one);
    }
}

void sh_membership_drop_transfers(sh_membership *membership, uint32_t device)
{
    uint32_t stripe;
    for (uint32_t i = membership->transfer_count; i-- > 0;)
        if (membership->transfers[i].receiver == device ||
            sh_transfer_gives(&stripe, &membership->transfers[i], device))
            sh_membership_drop_transfer(membership, &membership->transfers[i]);
}

const sh_transfer *sh_membership_transfer_to(const sh_membership *membership, uint32_t device)
{
    return sh_transfer_to(membership->transfers, membership->transfer_count, device);
}

/* A donor is doubtful if its link with the receiver broke, if it is not device 0 and the receiver's
 * last transfer failed, or if the receiver differed again after receiving from it. */
static bool is_doubtful(const sh_membership *membership, uint32_t donor,
                        const sh_roster_entry *receiver)
{
    return sh_membership_is_broken(membership, donor, receiver->device) ||
           (donor != 0 && receiver->failures == 1) ||
           (receiver->repairs.faults > 1 && sh_repairs_has_donor(&receiver->repairs, donor));
}

/* UINT32_MAX: none. */
static uint32_t next_donor(const sh_membership *membership, const sh_transfer *transfer,
                           const sh_seating *view, bool doubtful)
{
    uint32_t best = UINT32_MAX, least = UINT32_MAX, stripe;
    const sh_roster_entry *receiver = sh_membership_find(membership, transfer->receiver);
    for (uint32_t i = 0; i < view->seat_count; i++) {
        /* Starts elsewhere each time, in case a donor is faulty. */
        const uint32_t seat = (uint32_t)((membership->last_transfer + i) % view->seat_count);
        const uint32_t device = view->seats[seat].device;
        const sh_roster_entry *one = sh_membership_find(membership, device);
        if (one == NULL || !one->notice.whole || device == transfer->receiver ||
            sh_transfer_gives(&stripe, transfer, device))
            continue;
        const bool can_give = transfer->live
                                  ? !one->notice.leaving && one->notice.view == view->number
                                  : membership->recovery.agreement[seat] == SH_REPLICA_AT;
        const bool in_doubt = is_doubtful(membership, device, receiver);
        uint32_t gifts = 0;
        for (uint32_t k = 0; k < membership->transfer_count; k++)
            gifts += sh_transfer_gives(&stripe, &membership->transfers[k], device);
        if (!can_give || in_doubt != doubtful || gifts >= least)
            continue;
        best = device;
        least = gifts;
    }
    return best;
}

/* Uses the members of the view with the least load, doubtful ones only if there is no other. A
 * receiver that differed again receives all from one donor, to show which is faulty. */
static void begin_transfer(sh_membership *membership, const sh_seating *view, uint32_t receiver,
                           bool live)
{
    sh_roster_entry *one = sh_membership_find(membership, receiver);
    sh_transfer transfer = {.receiver = receiver,
                            .live = live,
                            .once = live && one->on_standby,
                            .wanted = membership->recovery.target};
    const uint32_t most = one->repairs.faults > 1 ? 1 : SH_DONORS_MAX;
    if (membership->transfer_count == SH_TRANSFERS_MAX)
        return;
    for (int doubtful = 0; doubtful < 2 && transfer.donor_count == 0; doubtful++)
        while (transfer.donor_count < most) {
            const uint32_t donor = next_donor(membership, &transfer, view, doubtful == 1);
            if (donor == UINT32_MAX)
                break;
            if (doubtful == 1 && most == 1) /* each gave a part: begins to try them one by one */
                one->repairs.donor_count = 0;
            transfer.donors[transfer.donor_count++] = donor;
        }
    if (transfer.donor_count == 0)
        return;
    transfer.number = ++membership->last_transfer;
    membership->transfers[membership->transfer_count++] = transfer;
    one->proven = false;
    one->entered.steps = UINT64_MAX; /* not in this view */
    one->begun_ms = membership->clock_ms;
    sh_membership_mark_changed(membership, one);
    sh_membership_note(membership, SH_NEWS_TRANSFER, receiver,
                       "device %.64s receives the replica from %u others", one->name,
                       transfer.donor_count);
    for (uint32_t i = 0; i < transfer.donor_count; i++) {
        sh_repairs_add_donor(&one->repairs, transfer.donors[i]);
        sh_membership_mark_changed(membership, sh_membership_find(membership, transfer.donors[i]));
    }
}

bool sh_membership_can_follow(const sh_membership *membership, const sh_roster_entry *one,
                              uint32_t receivers)
{
    const double step_s = (double)sh_membership_coordinator(membership)->notice.speed.step_s;
    if (!(one->link.in > 0) || !(step_s > 0))
        return true;
    return receivers * membership->followed / step_s <= FOLLOWED_MOST * one->link.in;
}

static bool has_enough(const sh_membership *membership, const sh_roster_entry *one)
{
    uint32_t keepers = 0;
    for (uint32_t i = 1; i < membership->slots; i++) {
        const sh_roster_entry *other = &membership->members[i];
        const bool earlier = other->on_standby && other->reached && other->device < one->device;
        keepers +=
            other->present && !other->dismissed && !other->local && (other->seated || earlier);
    }
    return keepers >= KEEPERS;
}

static bool is_to_keep(const sh_membership *membership, const sh_roster_entry *one)
{
    return one->considered && !one->notice.leaving && membership->phase == SH_MEMBERSHIP_STEADY &&
           (one->kept_ms == 0 ||
            membership->clock_ms >= one->kept_ms + KEEP_MS + KEEP_TIMES * one->keeping_ms) &&
           !has_enough(membership, one) && sh_membership_can_follow(membership, one, KEEPERS);
}

void sh_membership_put_off_keeping(const sh_membership *membership, sh_roster_entry *one)
{
    one->kept_ms = membership->clock_ms;
    one->keeping_ms = LOST_MS;
}

void sh_membership_begin_transfers(sh_membership *membership)
{
    if (membership->phase == SH_MEMBERSHIP_RECOVERING && sh_membership_is_linked(membership))
        for (uint32_t i = 0; i < membership->next.seat_count; i++) {
            const uint32_t device = membership->next.seats[i].device;
            if (membership->recovery.agreement[i] != SH_REPLICA_AT &&
                sh_membership_transfer_to(membership, device) == NULL)
                begin_transfer(membership, &membership->next, device, false);
        }
    if (membership->phase != SH_MEMBERSHIP_STEADY && membership->phase != SH_MEMBERSHIP_LINKING)
        return;
    for (uint32_t i = 0; i < membership->slots && !sh_membership_is_done(membership); i++) {
        const sh_roster_entry *one = &membership->members[i];
        if (one->present && one->reached && !one->seated && !one->dismissed &&
            (!one->on_standby || is_to_keep(membership, one)) &&
            sh_membership_transfer_to(membership, one->device) == NULL)
            begin_transfer(membership, &membership->now, one->device, true);
    }
}

void sh_membership_check_kept(sh_membership *membership)
{
    for (uint32_t i = membership->transfer_count; i-- > 0;) {
        const sh_transfer *transfer = &membership->transfers[i];
        sh_roster_entry *one = sh_membership_find(membership, transfer->receiver);
        if (!transfer->once || !one->notice.whole || one->notice.fetched != transfer->number)
            continue;
        one->keeping_ms = membership->clock_ms - one->begun_ms;
        one->kept_ms = membership->clock_ms;
        sh_membership_drop_transfer(membership, transfer);
    }
}
