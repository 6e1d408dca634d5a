/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_transfers.h"

void sh_membership_drop_transfer(sh_membership *membership, const sh_transfer *transfer)
{
    const sh_transfer gone = *transfer;
    uint32_t stripe;
    membership->transfers[transfer - membership->transfers] =
        membership->transfers[--membership->transfer_count];
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (one->present &&
            (one->device == gone.taker || sh_transfer_gives(&stripe, &gone, one->device)))
            sh_membership_touch(membership, one);
    }
}

void sh_membership_drop_transfers(sh_membership *membership, uint32_t device)
{
    uint32_t stripe;
    for (uint32_t i = membership->transfer_count; i-- > 0;)
        if (membership->transfers[i].taker == device ||
            sh_transfer_gives(&stripe, &membership->transfers[i], device))
            sh_membership_drop_transfer(membership, &membership->transfers[i]);
}

const sh_transfer *sh_membership_transfer_to(const sh_membership *membership, uint32_t device)
{
    for (uint32_t i = 0; i < membership->transfer_count; i++)
        if (membership->transfers[i].taker == device)
            return &membership->transfers[i];
    return NULL;
}

static uint32_t gifts_of(const sh_membership *membership, uint32_t device)
{
    uint32_t gifts = 0, stripe;
    for (uint32_t i = 0; i < membership->transfer_count; i++)
        gifts += sh_transfer_gives(&stripe, &membership->transfers[i], device);
    return gifts;
}

/* Whether the member in this seat of the view could give its replica away. */
static bool can_give(const sh_membership *membership, const sh_seating *view, uint32_t seat,
                     bool live)
{
    const sh_roster_entry *one = sh_membership_seated(membership, view, seat);
    if (one == NULL || !one->notice.whole)
        return false;
    return live ? !one->notice.leaving && one->notice.view == view->number
                : membership->recovery.standing[seat] == SH_STANDING_AT;
}

/* Whether the taker should rather have it from somebody else: their link broke; or its last
 * transfer failed, and device 0, which it talks with, can give. */
static bool is_doubtful(const sh_membership *membership, uint32_t donor, uint32_t taker)
{
    return sh_membership_is_broken(membership, donor, taker) ||
           (donor != 0 && sh_membership_find(membership, taker)->failures == 1);
}

/* The member that could give its replica and gives least; UINT32_MAX: none. */
static uint32_t next_donor(const sh_membership *membership, const sh_transfer *transfer,
                           const sh_seating *view, bool doubtful)
{
    uint32_t best = UINT32_MAX, least = UINT32_MAX, stripe;
    for (uint32_t i = 0; i < view->seat_count; i++) {
        /* Another donor comes first each time, so that a faulty one is not met for ever. */
        const uint32_t seat = (uint32_t)((membership->last_transfer + i) % view->seat_count);
        const uint32_t device = view->seats[seat].device;
        if (device == transfer->taker || sh_transfer_gives(&stripe, transfer, device) ||
            !can_give(membership, view, seat, transfer->live) ||
            is_doubtful(membership, device, transfer->taker) != doubtful ||
            gifts_of(membership, device) >= least)
            continue;
        best = device;
        least = gifts_of(membership, device);
    }
    return best;
}

/* Begins a transfer from those of the view that give least, if there are any and there is room. A
 * doubtful one gives only if nobody else can. */
static void begin_transfer(sh_membership *membership, const sh_seating *view, uint32_t taker,
                           bool live)
{
    sh_transfer transfer = {.taker = taker, .live = live, .wanted = membership->recovery.target};
    if (membership->transfer_count == SH_TRANSFERS_MAX)
        return;
    for (int doubtful = 0; doubtful < 2 && transfer.donor_count == 0; doubtful++)
        while (transfer.donor_count < SH_DONORS_MAX) {
            const uint32_t donor = next_donor(membership, &transfer, view, doubtful == 1);
            if (donor == UINT32_MAX)
                break;
            transfer.donors[transfer.donor_count++] = donor;
        }
    if (transfer.donor_count == 0)
        return;
    transfer.number = ++membership->last_transfer;
    membership->transfers[membership->transfer_count++] = transfer;
    sh_roster_entry *one = sh_membership_find(membership, taker);
    one->proven = false;
    one->entered.steps = UINT64_MAX; /* not in this view */
    sh_membership_touch(membership, one);
    sh_membership_note(membership, SH_NEWS_TRANSFER, taker,
                       "device %.64s takes the replica from %u others", one->name,
                       transfer.donor_count);
    for (uint32_t i = 0; i < transfer.donor_count; i++)
        sh_membership_touch(membership, sh_membership_find(membership, transfer.donors[i]));
}

void sh_membership_begin_transfers(sh_membership *membership)
{
    if (membership->phase == SH_MEMBERSHIP_RECOVERING)
        for (uint32_t i = 0; i < membership->next.seat_count; i++) {
            const uint32_t device = membership->next.seats[i].device;
            if (membership->recovery.standing[i] != SH_STANDING_AT &&
                sh_membership_transfer_to(membership, device) == NULL)
                begin_transfer(membership, &membership->next, device, false);
        }
    if (membership->phase != SH_MEMBERSHIP_STEADY && membership->phase != SH_MEMBERSHIP_LINKING)
        return;
    for (uint32_t i = 0; i < membership->slots && !sh_membership_is_done(membership); i++) {
        const sh_roster_entry *one = &membership->members[i];
        if (one->present && one->ready && !one->seated && !one->dismissed &&
            sh_membership_transfer_to(membership, one->device) == NULL)
            begin_transfer(membership, &membership->now, one->device, true);
    }
}
