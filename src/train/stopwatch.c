/* SPDX-License-Identifier: Apache-2.0 */
#include "train/stopwatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

sh_status sh_stopwatch_init(sh_stopwatch *watch, const sh_clock *clock, uint32_t lanes)
{
    *watch = (sh_stopwatch){.clock = clock, .lanes = lanes};
    if (clock == NULL)
        return SH_OK;
    void *spans;
    SH_TRY(sh_block_new(&spans, lanes * sizeof *watch->spans, "timing the lanes"));
    watch->spans = spans;
    return SH_OK;
}

void sh_stopwatch_release(sh_stopwatch *watch)
{
    free(watch->spans);
    watch->spans = NULL;
}

void sh_stopwatch_clear(sh_stopwatch *watch)
{
    watch->turns_ns = watch->network_ns = watch->steps = watch->steps_ns = 0;
    sh_stopwatch_interrupt(watch);
    if (watch->spans != NULL)
        memset(watch->spans, 0, watch->lanes * sizeof *watch->spans);
}

void sh_stopwatch_add_run(sh_stopwatch *watch, uint32_t lane, uint64_t begun, uint64_t turn,
                          uint64_t added)
{
    if (watch->clock == NULL)
        return;
    uint64_t *ns = watch->spans[lane].ns;
    ns[SH_SPAN_FORWARD] += turn - begun;
    ns[SH_SPAN_BACKWARD] += sh_clock_now_ns(watch->clock) - turn - (ns[SH_SPAN_ADD] - added);
}

static sh_tally tally_of(const sh_stopwatch *watch)
{
    sh_tally tally = {.turns_ns = watch->turns_ns,
                      .network_ns = watch->network_ns,
                      .at_ns = sh_stopwatch_now(watch)};
    for (uint32_t lane = 0; lane < watch->lanes; lane++)
        for (int kind = 0; kind < SH_SPAN_COUNT; kind++)
            tally.ns[kind] += watch->spans[lane].ns[kind];
    return tally;
}

void sh_stopwatch_begin_step(sh_stopwatch *watch)
{
    if (watch->clock == NULL || watch->carried)
        return;
    watch->mark = tally_of(watch);
    watch->carried = true;
}

void sh_stopwatch_interrupt(sh_stopwatch *watch)
{
    watch->carried = false;
    watch->ended_ns = 0;
}

void sh_stopwatch_end_step(sh_stopwatch *watch, sh_step_times *times)
{
    if (watch->clock == NULL)
        return;
    const sh_tally now = tally_of(watch), before = watch->mark;
    uint64_t mean[SH_SPAN_COUNT];
    for (int kind = 0; kind < SH_SPAN_COUNT; kind++)
        mean[kind] = (now.ns[kind] - before.ns[kind]) / watch->lanes;
    const uint64_t turns_ns = now.turns_ns - before.turns_ns;
    const uint64_t network_ns = now.network_ns - before.network_ns;
    const uint64_t outside_ns = now.at_ns - before.at_ns - turns_ns - network_ns;
    times->ns[SH_PART_data] = mean[SH_SPAN_READ];
    times->ns[SH_PART_forward] = mean[SH_SPAN_FORWARD];
    times->ns[SH_PART_backward] = mean[SH_SPAN_BACKWARD];
    times->ns[SH_PART_sum] = mean[SH_SPAN_SUM] + mean[SH_SPAN_ADD];
    times->ns[SH_PART_optimizer] = mean[SH_SPAN_PREPARE] + mean[SH_SPAN_APPLY] + outside_ns;
    times->ns[SH_PART_lanes] = turns_ns > mean[SH_SPAN_BUSY] ? turns_ns - mean[SH_SPAN_BUSY] : 0;
    times->ns[SH_PART_exchange] = network_ns;
    times->ns[SH_PART_between] = watch->ended_ns != 0 ? before.at_ns - watch->ended_ns : 0;
    times->ends_ns = now.at_ns;
    times->wall_ns = times->ns[SH_PART_between] + now.at_ns - before.at_ns;
    watch->ended_ns = now.at_ns;
    watch->carried = false;
}

sh_status sh_stopwatch_report(const sh_stopwatch *watch, sh_profile *profile)
{
    sh_lane_spans all = {{0}, {0}};
    for (uint32_t lane = 0; watch->spans != NULL && lane < watch->lanes; lane++)
        for (int kind = 0; kind < SH_SPAN_COUNT; kind++) {
            all.ns[kind] += watch->spans[lane].ns[kind];
            all.count[kind] += watch->spans[lane].count[kind];
        }
    const uint64_t turns_ns = watch->lanes * watch->turns_ns;
    const uint64_t idle_ns = turns_ns > all.ns[SH_SPAN_BUSY] ? turns_ns - all.ns[SH_SPAN_BUSY] : 0;
    profile->lanes = watch->lanes;
    profile->steps = watch->steps;
    profile->step_seconds = (double)watch->steps_ns * 1e-9;
    SH_TRY(sh_profile_add(profile, "reading samples", all.count[SH_SPAN_READ],
                          (double)all.ns[SH_SPAN_READ] * 1e-9));
    SH_TRY(sh_profile_add(profile, SH_PROFILE_SUM, 0, (double)all.ns[SH_SPAN_SUM] * 1e-9));
    SH_TRY(
        sh_profile_add(profile, "optimizer", watch->steps, (double)all.ns[SH_SPAN_APPLY] * 1e-9));
    SH_TRY(sh_profile_add(profile, "waiting for lanes", 0, (double)idle_ns * 1e-9));
    return sh_profile_add(profile, "network", watch->steps,
                          (double)(watch->lanes * watch->network_ns) * 1e-9);
}
