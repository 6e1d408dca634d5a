/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/audit.h"

#include <string.h>

/* ---- pieces ---------------------------------------------------------------------------------- */

void sh_audit_begin(sh_audit *audit, uint32_t round, uint32_t suspect,
                    const sh_audit_report *report, const sh_auditor *auditors, uint32_t count)
{
    uint32_t weights[SH_AUDIT_PIECES], chosen[SH_AUDIT_PIECES], found = 0;
    uint64_t weight = 0;
    sh_ranges rest = report->grains;
    for (uint32_t i = 0; i < count && found < SH_AUDIT_PIECES; i++) {
        if (auditors[i].weight == 0)
            continue;
        chosen[found] = auditors[i].device;
        weights[found] = auditors[i].weight;
        weight += weights[found++];
    }
    if (found == 0) {
        chosen[0] = auditors[0].device;
        weight = weights[0] = found = 1;
    }
    memset(audit, 0, sizeof *audit);
    audit->first_round = audit->round = round + 1;
    audit->own = report->own;
    const uint32_t grains = sh_ranges_total(&rest);
    uint64_t until = 0;
    uint32_t dealt = 0;
    for (uint32_t i = 0; i < found; i++) {
        until += weights[i];
        const uint32_t end = (uint32_t)(grains * until / weight);
        if (end == dealt)
            continue;
        sh_ranges_take(&audit->grains[audit->pieces], &rest, end - dealt);
        audit->claimants[audit->pieces++] = chosen[i];
        dealt = end;
    }
    audit->claimants[audit->pieces] = suspect;
    /* Each auditor computes each piece, then the suspect computes all, one a round. */
    audit->rounds = 2 * audit->pieces;
}

/* The piece that a claimant computes in the current round; `pieces`: none. */
static uint32_t piece_of(const sh_audit *audit, uint32_t claimant)
{
    const uint32_t past = audit->round - audit->first_round;
    if (claimant < audit->pieces)
        return past < audit->pieces ? (claimant + past) % audit->pieces : audit->pieces;
    return past < audit->pieces ? audit->pieces : past - audit->pieces;
}

static uint32_t claimant_of(const sh_audit *audit, uint32_t device)
{
    uint32_t claimant = 0;
    while (claimant <= audit->pieces && audit->claimants[claimant] != device)
        claimant++;
    return claimant;
}

bool sh_audit_order_of(sh_audit_order *order, const sh_audit *audit, uint32_t device)
{
    const uint32_t claimant = claimant_of(audit, device);
    if (claimant > audit->pieces || piece_of(audit, claimant) == audit->pieces)
        return false;
    order->round = audit->round;
    order->grains = audit->grains[piece_of(audit, claimant)];
    return true;
}

/* ---- findings -------------------------------------------------------------------------------- */

/* The claim on a piece that most devices share, and how many do. */
static uint32_t most_shared(const sh_audit *audit, uint32_t piece, uint32_t *claim)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i <= audit->pieces; i++) {
        uint32_t share = 0;
        for (uint32_t k = 0; k <= audit->pieces && audit->claimed[piece][i]; k++)
            share += audit->claimed[piece][k] &&
                     sh_sum_check_equal(&audit->claims[piece][i], &audit->claims[piece][k]);
        if (share > most) {
            most = share;
            *claim = i;
        }
    }
    return most;
}

/* Whether device 0 has a claim on a piece. */
static bool has_device_0(const sh_audit *audit, uint32_t piece, uint32_t *claim)
{
    const uint32_t zero = claimant_of(audit, 0);
    const bool has = zero <= audit->pieces && audit->claimed[piece][zero];
    if (has)
        *claim = zero;
    return has;
}

static void add_liar(sh_audit *audit, uint32_t claimant)
{
    for (uint32_t i = 0; i < audit->liar_count; i++)
        if (audit->liars[i] == audit->claimants[claimant])
            return;
    audit->liars[audit->liar_count++] = audit->claimants[claimant];
}

/* Compares all claims with those that hold. `last`: no round is left, so a single claim may. */
static sh_audit_finding settle(sh_audit *audit, bool last)
{
    uint32_t holds[SH_AUDIT_PIECES] = {0};
    sh_sum_check sum = {0};
    bool known = true;
    audit->agreed = SH_AUDIT_CLAIMANTS;
    for (uint32_t p = 0; p < audit->pieces; p++) {
        const uint32_t shared = most_shared(audit, p, &holds[p]);
        if (shared < 2 && !last)
            return SH_AUDIT_NEXT;
        if (shared < 2 && !has_device_0(audit, p, &holds[p])) {
            holds[p] = audit->pieces + 1; /* no claim holds */
            known = false;
        }
        if (shared < audit->agreed)
            audit->agreed = shared;
    }
    for (uint32_t p = 0; p < audit->pieces; p++) {
        const sh_sum_check *right = holds[p] > audit->pieces ? NULL : &audit->claims[p][holds[p]];
        if (right != NULL)
            sh_sum_check_merge(&sum, right);
        for (uint32_t i = 0; i <= audit->pieces; i++)
            if (audit->claimed[p][i] &&
                (right == NULL || !sh_sum_check_equal(&audit->claims[p][i], right)))
                add_liar(audit, i);
    }
    if (known && !sh_sum_check_equal(&sum, &audit->own))
        add_liar(audit, audit->pieces);
    return audit->liar_count > 0 ? SH_AUDIT_LIARS : SH_AUDIT_HONEST;
}

/* Whether the first answers add up to what the suspect committed to. */
static bool adds_up(const sh_audit *audit)
{
    sh_sum_check sum = {0};
    for (uint32_t p = 0; p < audit->pieces; p++)
        sh_sum_check_merge(&sum, &audit->claims[p][p]);
    return sh_sum_check_equal(&sum, &audit->own);
}

sh_audit_finding sh_audit_answer(sh_audit *audit, uint32_t device, uint32_t round,
                                 const sh_sum_check *check)
{
    const uint32_t claimant = claimant_of(audit, device);
    uint32_t asked = 0;
    if (round != audit->round || claimant > audit->pieces ||
        piece_of(audit, claimant) == audit->pieces || (audit->answered >> claimant & 1) != 0)
        return SH_AUDIT_WAITS;
    const uint32_t piece = piece_of(audit, claimant);
    audit->claimed[piece][claimant] = true;
    audit->claims[piece][claimant] = *check;
    audit->answered |= 1U << claimant;
    for (uint32_t i = 0; i <= audit->pieces; i++)
        asked |= (uint32_t)(piece_of(audit, i) < audit->pieces) << i;
    if (audit->answered != asked)
        return SH_AUDIT_WAITS;
    const uint32_t past = audit->round - audit->first_round;
    if (past == 0 && adds_up(audit))
        return SH_AUDIT_HONEST;
    const sh_audit_finding found =
        past == 0 ? SH_AUDIT_NEXT : settle(audit, past + 1 == audit->rounds);
    if (found == SH_AUDIT_NEXT) {
        audit->round++;
        audit->answered = 0;
    }
    return found;
}
