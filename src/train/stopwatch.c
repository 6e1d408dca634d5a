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
    if (watch->spans != NULL)
        memset(watch->spans, 0, watch->lanes * sizeof *watch->spans);
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
