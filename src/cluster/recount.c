/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/recount.h"

#include <assert.h>

#include "base/random.h"

void sh_recount_begin(sh_recount *recount)
{
    recount->share_count = recount->piece_count = recount->open = 0;
}

void sh_recount_add(sh_recount *recount, uint32_t device, const sh_audit_report *report)
{
    assert(recount->share_count < SH_DEVICES_MAX);
    recount->shares[recount->share_count++] =
        (sh_recount_share){.device = device, .grains = report->grains, .own = report->own};
}

/* ---- dealing --------------------------------------------------------------------------------- */

static void shuffle(sh_recount *recount, uint64_t seed)
{
    sh_random random = sh_random_for(seed, SH_RANDOM_AUDIT, 0, 0);
    for (uint32_t left = recount->share_count; left > 1; left--) {
        const uint32_t drawn = sh_random_below(&random, left);
        const sh_recount_share share = recount->shares[drawn];
        recount->shares[drawn] = recount->shares[left - 1];
        recount->shares[left - 1] = share;
    }
}

/* The next device of the circle, with grains if it is not the only one that has any. */
static uint32_t follower(const sh_recount *recount, uint32_t share)
{
    uint32_t next = share;
    do
        next = (next + 1) % recount->share_count;
    while (next != share && recount->shares[next].grains.count == 0);
    return next == share ? (share + 1) % recount->share_count : next;
}

/* Gives a device the next `count` grains of a share. */
static void give(sh_recount *recount, uint32_t index, uint32_t auditor, uint32_t count)
{
    sh_recount_share *share = &recount->shares[index];
    uint32_t first = 0;
    if (share->piece_count == 0) {
        share->first_piece = recount->piece_count;
    } else {
        sh_recount_piece *last = &recount->pieces[recount->piece_count - 1];
        if (share->piece_count == SH_RECOUNT_PIECES ||
            last->auditor == recount->shares[auditor].device) {
            last->count += count;
            return;
        }
        first = last->first + last->count;
    }
    share->piece_count++;
    recount->pieces[recount->piece_count++] = (sh_recount_piece){
        .share = index, .auditor = recount->shares[auditor].device, .first = first, .count = count};
}

bool sh_recount_deal(sh_recount *recount, uint64_t seed)
{
    assert(recount->share_count >= 2);
    if (sh_recount_shares(recount) == 0)
        return false;
    shuffle(recount, seed);
    uint32_t first = 0;
    while (recount->shares[first].grains.count == 0)
        first++;
    uint32_t auditor = follower(recount, first);
    uint32_t room = sh_ranges_total(&recount->shares[auditor].grains);
    for (uint32_t i = 0; i < recount->share_count; i++) {
        for (uint32_t left = sh_ranges_total(&recount->shares[i].grains); left > 0;) {
            const uint32_t count = room == 0 || left < room ? left : room;
            give(recount, i, auditor == i ? follower(recount, i) : auditor, count);
            left -= count;
            if (room > 0 && (room -= count) == 0) {
                auditor = follower(recount, auditor);
                room = sh_ranges_total(&recount->shares[auditor].grains);
            }
        }
    }
    recount->open = recount->piece_count;
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool sh_recount_order_of(sh_audit_order *order, const sh_recount *recount, uint32_t device)
{
    for (uint32_t i = 0; i < recount->piece_count; i++) {
        const sh_recount_piece *piece = &recount->pieces[i];
        if (piece->auditor != device || piece->answered)
            continue;
        order->round = i + 1;
        order->grains = sh_recount_grains(recount, piece);
        return true;
    }
    return false;
}

bool sh_recount_answer(sh_recount *recount, uint32_t device, uint32_t round,
                       const sh_sum_check *check)
{
    if (round == 0 || round > recount->piece_count)
        return false;
    sh_recount_piece *piece = &recount->pieces[round - 1];
    if (piece->auditor != device || piece->answered)
        return false;
    piece->answered = true;
    piece->check = *check;
    recount->open--;
    return true;
}

bool sh_recount_is_complete(const sh_recount *recount)
{
    return recount->open == 0;
}

const sh_recount_share *sh_recount_find_wrong(const sh_recount *recount)
{
    for (uint32_t i = 0; i < recount->share_count; i++) {
        const sh_recount_share *share = &recount->shares[i];
        sh_sum_check sum = {0};
        for (uint32_t p = 0; p < share->piece_count; p++)
            sh_sum_check_merge(&sum, &recount->pieces[share->first_piece + p].check);
        if (share->piece_count > 0 && !sh_sum_check_equal(&sum, &share->own))
            return share;
    }
    return NULL;
}

/* ---- what it has ----------------------------------------------------------------------------- */

sh_ranges sh_recount_grains(const sh_recount *recount, const sh_recount_piece *piece)
{
    sh_ranges rest = recount->shares[piece->share].grains, before, grains;
    sh_ranges_take(&before, &rest, piece->first);
    sh_ranges_take(&grains, &rest, piece->count);
    return grains;
}

uint32_t sh_recount_shares(const sh_recount *recount)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < recount->share_count; i++)
        count += recount->shares[i].grains.count > 0;
    return count;
}
