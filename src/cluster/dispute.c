/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/dispute.h"

#include <assert.h>
#include <string.h>

/* ---- claimants ------------------------------------------------------------------------------- */

static uint32_t claimant_of(const sh_dispute *dispute, uint32_t device)
{
    uint32_t claimant = 0;
    while (claimant <= dispute->auditors && dispute->claimants[claimant] != device)
        claimant++;
    return claimant;
}

/* Adds an auditor unless it has a piece, or there is no room. */
static void add_auditor(sh_dispute *dispute, uint32_t device)
{
    for (uint32_t i = 0; i < dispute->auditors; i++)
        if (dispute->claimants[i] == device)
            return;
    if (dispute->auditors < SH_DISPUTE_AUDITORS)
        dispute->claimants[dispute->auditors++] = device;
}

void sh_dispute_begin(sh_dispute *dispute, const sh_recount *recount, const sh_recount_share *share)
{
    memset(dispute, 0, sizeof *dispute);
    dispute->own = share->own;
    dispute->pieces = dispute->auditors = share->piece_count;
    for (uint32_t p = 0; p < share->piece_count; p++) {
        const sh_recount_piece *piece = &recount->pieces[share->first_piece + p];
        dispute->claimants[p] = piece->auditor;
        dispute->grains[p] = sh_recount_grains(recount, piece);
        dispute->claimed[p][p] = true;
        dispute->claims[p][p] = piece->check;
    }
    for (uint32_t i = 0; i < recount->share_count; i++)
        if (recount->shares[i].device != share->device)
            add_auditor(dispute, recount->shares[i].device);
    dispute->claimants[dispute->auditors] = share->device;
    /* Each auditor computes each piece, the first of them in the recount; then the suspect computes
     * all, one a round. */
    dispute->rounds = dispute->auditors - 1 + dispute->pieces;
    dispute->first_round = dispute->round = recount->piece_count + 1;
}

/* The piece that a claimant computes in the current round; `pieces`: none. */
static uint32_t piece_of(const sh_dispute *dispute, uint32_t claimant)
{
    const uint32_t past = dispute->round - dispute->first_round + 1; /* 0: the recount */
    const bool auditors = past < dispute->auditors;
    if (claimant < dispute->auditors) {
        const uint32_t piece = (claimant + past) % dispute->auditors;
        return auditors && piece < dispute->pieces ? piece : dispute->pieces;
    }
    return auditors ? dispute->pieces : past - dispute->auditors;
}

bool sh_dispute_order_of(sh_audit_order *order, const sh_dispute *dispute, uint32_t device)
{
    const uint32_t claimant = claimant_of(dispute, device);
    if (claimant > dispute->auditors || piece_of(dispute, claimant) == dispute->pieces)
        return false;
    order->round = dispute->round;
    order->grains = dispute->grains[piece_of(dispute, claimant)];
    return true;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* The claim on a piece that most devices share, and how many do. */
static uint32_t most_shared(const sh_dispute *dispute, uint32_t piece, uint32_t *claim)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i <= dispute->auditors; i++) {
        uint32_t share = 0;
        for (uint32_t k = 0; k <= dispute->auditors && dispute->claimed[piece][i]; k++)
            share += dispute->claimed[piece][k] &&
                     sh_sum_check_equal(&dispute->claims[piece][i], &dispute->claims[piece][k]);
        if (share > most) {
            most = share;
            *claim = i;
        }
    }
    return most;
}

/* Whether device 0 has a claim on a piece. */
static bool has_device_0(const sh_dispute *dispute, uint32_t piece, uint32_t *claim)
{
    const uint32_t zero = claimant_of(dispute, 0);
    const bool has = zero <= dispute->auditors && dispute->claimed[piece][zero];
    if (has)
        *claim = zero;
    return has;
}

static void add_liar(sh_dispute *dispute, uint32_t claimant)
{
    for (uint32_t i = 0; i < dispute->liar_count; i++)
        if (dispute->liars[i] == dispute->claimants[claimant])
            return;
    dispute->liars[dispute->liar_count++] = dispute->claimants[claimant];
}

/* Compares all claims with those that hold. `last`: no round is left, so a single claim may. */
static sh_dispute_finding settle(sh_dispute *dispute, bool last)
{
    uint32_t holds[SH_RECOUNT_PIECES] = {0};
    sh_sum_check sum = {0};
    bool known = true;
    dispute->agreed = SH_DISPUTE_CLAIMANTS;
    for (uint32_t p = 0; p < dispute->pieces; p++) {
        const uint32_t shared = most_shared(dispute, p, &holds[p]);
        if (shared < 2 && !last)
            return SH_DISPUTE_NEXT;
        if (shared < 2 && !has_device_0(dispute, p, &holds[p])) {
            holds[p] = SH_DISPUTE_CLAIMANTS; /* no claim holds */
            known = false;
        }
        if (shared < dispute->agreed)
            dispute->agreed = shared;
    }
    for (uint32_t p = 0; p < dispute->pieces; p++) {
        const sh_sum_check *right =
            holds[p] == SH_DISPUTE_CLAIMANTS ? NULL : &dispute->claims[p][holds[p]];
        if (right != NULL)
            sh_sum_check_merge(&sum, right);
        for (uint32_t i = 0; i <= dispute->auditors; i++)
            if (dispute->claimed[p][i] &&
                (right == NULL || !sh_sum_check_equal(&dispute->claims[p][i], right)))
                add_liar(dispute, i);
    }
    if (known && !sh_sum_check_equal(&sum, &dispute->own))
        add_liar(dispute, dispute->auditors);
    assert(dispute->liar_count > 0);
    return SH_DISPUTE_SETTLED;
}

sh_dispute_finding sh_dispute_answer(sh_dispute *dispute, uint32_t device, uint32_t round,
                                     const sh_sum_check *check)
{
    const uint32_t claimant = claimant_of(dispute, device);
    uint32_t asked = 0;
    if (round != dispute->round || claimant > dispute->auditors ||
        piece_of(dispute, claimant) == dispute->pieces || (dispute->answered >> claimant & 1) != 0)
        return SH_DISPUTE_WAITS;
    const uint32_t piece = piece_of(dispute, claimant);
    dispute->claimed[piece][claimant] = true;
    dispute->claims[piece][claimant] = *check;
    dispute->answered |= 1U << claimant;
    for (uint32_t i = 0; i <= dispute->auditors; i++)
        asked |= (uint32_t)(piece_of(dispute, i) < dispute->pieces) << i;
    if (dispute->answered != asked)
        return SH_DISPUTE_WAITS;
    const bool last = dispute->round - dispute->first_round + 1 == dispute->rounds;
    const sh_dispute_finding found = settle(dispute, last);
    if (found == SH_DISPUTE_NEXT) {
        dispute->round++;
        dispute->answered = 0;
    }
    return found;
}
