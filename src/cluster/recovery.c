/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/recovery.h"

#include <assert.h>
#include <string.h>

#include "train/schedule.h"

static sh_position step_back(sh_position position, const sh_survivor *survivors, uint32_t count)
{
    const sh_position validation = {position.steps, SH_PHASE_VALIDATION};
    if (position.phase == SH_PHASE_FIRST)
        for (uint32_t i = 0; i < count; i++)
            if (survivors[i].notice->whole &&
                sh_position_same(survivors[i].notice->position, validation))
                return validation;
    return position;
}

static uint32_t count_there(sh_position position, const sh_survivor *survivors, uint32_t count)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < count; i++)
        there += survivors[i].notice->whole &&
                 sh_position_reaches(survivors[i].notice->position, position);
    return there;
}

static bool choose_target(sh_position *target, const sh_survivor *survivors, uint32_t count)
{
    bool found = false, believed = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!survivors[i].notice->whole)
            continue;
        const sh_position position = step_back(survivors[i].notice->position, survivors, count);
        const bool by_others =
            survivors[i].device == 0 || count_there(position, survivors, count) > 1;
        if (found && (by_others == believed ? !sh_position_before(*target, position) : believed))
            continue;
        *target = position;
        believed = by_others;
        found = true;
    }
    return found;
}

/* Whether a survivor at the target may vote: all may, unless some are proven. */
static bool votes(const sh_recovery *recovery, const sh_survivor *survivors, uint32_t i,
                  bool proven)
{
    return recovery->agreement[i] == SH_REPLICA_AT && (!proven || survivors[i].proven);
}

/* False: a tie, or a single vote against another. */
static bool majority(uint64_t *check, const sh_recovery *recovery, const sh_survivor *survivors,
                     uint32_t count)
{
    uint32_t best = 0;
    bool proven = false, tie = false;
    for (uint32_t i = 0; i < count; i++)
        proven = proven || (recovery->agreement[i] == SH_REPLICA_AT && survivors[i].proven);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t theirs = survivors[i].notice->check;
        uint32_t equal = 0;
        if (!votes(recovery, survivors, i, proven))
            continue;
        for (uint32_t j = 0; j < count; j++)
            equal += votes(recovery, survivors, j, proven) && survivors[j].notice->check == theirs;
        tie = equal > best ? false : tie || (equal == best && theirs != *check);
        if (equal > best) {
            best = equal;
            *check = theirs;
        }
    }
    for (uint32_t i = 0; i < count && best == 1; i++)
        tie = tie ||
              (recovery->agreement[i] == SH_REPLICA_AT && survivors[i].notice->check != *check);
    return !tie;
}

/* Reads from the reports of devices exactly at the target how many grains its stage has, by device
 * 0 or else by majority, and whether the job ends. Device 0 decides the latter if it arrived there
 * by stages; else the majority of devices that did, or any report if none did. */
static void hear_stage(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count)
{
    uint32_t ends = 0, goes_on = 0, most = 0;
    bool heard = false, proven = false;
    for (uint32_t i = 0; i < count; i++) {
        const sh_notice *notice = survivors[i].notice;
        if (recovery->agreement[i] != SH_REPLICA_AT ||
            !sh_position_same(notice->position, recovery->target))
            continue;
        uint32_t equal = survivors[i].device == 0 ? count : 0;
        for (uint32_t k = 0; k < count; k++)
            equal += recovery->agreement[k] == SH_REPLICA_AT &&
                     sh_position_same(survivors[k].notice->position, recovery->target) &&
                     survivors[k].notice->grains == notice->grains;
        if (equal > most)
            recovery->grains = notice->grains;
        most = equal > most ? equal : most;

        if (survivors[i].proven && survivors[i].device == 0) {
            recovery->ends = notice->life == SH_LIFE_FINISHED;
            heard = true;
        }
        if (survivors[i].proven && !proven)
            ends = goes_on = 0;
        proven = proven || survivors[i].proven;
        if (survivors[i].proven != proven)
            continue;
        ends += notice->life == SH_LIFE_FINISHED;
        goes_on += notice->life != SH_LIFE_FINISHED;
    }
    if (!heard)
        recovery->ends = ends > (proven ? goes_on : 0);
}

bool sh_recovery_judge(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count)
{
    assert(count <= SH_DEVICES_MAX);
    memset(recovery, 0, sizeof *recovery);
    if (!choose_target(&recovery->target, survivors, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const sh_notice *notice = survivors[i].notice;
        const bool at = notice->whole && sh_position_reaches(notice->position, recovery->target);
        recovery->agreement[i] = at ? SH_REPLICA_AT : SH_REPLICA_AWAY;
    }
    uint64_t check = 0;
    recovery->no_majority = !majority(&check, recovery, survivors, count);
    for (uint32_t i = 0; i < count && !recovery->no_majority; i++)
        if (recovery->agreement[i] == SH_REPLICA_AT && survivors[i].notice->check != check)
            recovery->agreement[i] = SH_REPLICA_ODD;
    hear_stage(recovery, survivors, count);
    return true;
}

/* `held`: the union of the grains that are kept. False: too many ranges. */
static bool choose_kept(sh_recovery *recovery, sh_ranges *held, const sh_survivor *survivors,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const sh_notice *notice = survivors[i].notice;
        recovery->keep[i] = recovery->agreement[i] == SH_REPLICA_AT &&
                            sh_position_same(notice->position, recovery->target) &&
                            sh_ranges_valid(&notice->held, recovery->grains) &&
                            !sh_ranges_overlap(&notice->held, held);
        if (recovery->keep[i] && !sh_ranges_add_all(held, &notice->held))
            return false;
    }
    return true;
}

/* Deals `missing` by shares. False: too many ranges for a device. */
static bool deal(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count,
                 const sh_range *shares, uint32_t of, sh_ranges missing)
{
    const uint32_t lacking = sh_ranges_total(&missing);
    for (uint32_t i = 0; i < count; i++) {
        sh_ranges own = recovery->keep[i] ? survivors[i].notice->held : (sh_ranges){0};
        sh_ranges_take(&recovery->work[i], &missing, sh_range_scale(shares[i], of, lacking).count);
        if (!sh_ranges_add_all(&own, &recovery->work[i]))
            return false;
    }
    assert(missing.count == 0);
    return true;
}

void sh_recovery_deal(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count,
                      const sh_range *shares, uint32_t of, bool restart)
{
    sh_ranges held = {0}, missing = {0};
    if (!restart && choose_kept(recovery, &held, survivors, count) &&
        sh_ranges_complement(&missing, &held, recovery->grains) &&
        deal(recovery, survivors, count, shares, of, missing))
        return;
    memset(recovery->keep, 0, sizeof recovery->keep);
    const sh_ranges all = {recovery->grains > 0, {{0, recovery->grains}}};
    const bool dealt = deal(recovery, survivors, count, shares, of, all);
    assert(dealt);
    (void)dealt;
}
