/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/overdue.h"

const sh_overdue_limit sh_overdue_limits[SH_OCCUPATION_KINDS] = {
    [SH_OCCUPATION_START] = {.least_ms = 20000, .at_once = true},
    [SH_OCCUPATION_STEPS] = {.least_ms = 5000, .factor = 8, .most_ms = 600000},
    [SH_OCCUPATION_WAIT] = {.least_ms = 20000, .factor = 2}, /* others may be much slower */
    /* A slow memory card shows no progress during a flush. */
    [SH_OCCUPATION_FILES] = {.least_ms = 60000, .factor = 4, .most_ms = 600000},
};

uint64_t sh_overdue_limit_ns(const sh_overdue *overdue, sh_occupation occupation)
{
    const sh_overdue_limit *limit = &overdue->limits[occupation];
    const uint64_t least_ns = (uint64_t)limit->least_ms * 1000000u;
    const uint64_t most_ns = (uint64_t)limit->most_ms * 1000000u;
    const uint64_t seen_ns = overdue->longest_ns[occupation] * limit->factor;
    const uint64_t limit_ns = seen_ns > least_ns ? seen_ns : least_ns;
    return most_ns > 0 && limit_ns > most_ns ? most_ns : limit_ns;
}

bool sh_overdue_look(sh_overdue *overdue, uint64_t now_ns, sh_liveness liveness, bool asked)
{
    uint64_t passed_ns = overdue->begun ? now_ns - overdue->looked_ns : 0;
    if (passed_ns > overdue->look_ns)
        passed_ns = overdue->look_ns;
    const sh_liveness before = overdue->seen;
    const bool moved = !overdue->begun || before.occupation != liveness.occupation ||
                       before.progress != liveness.progress;
    overdue->still_ns += passed_ns;
    overdue->asked_ns += overdue->asked ? passed_ns : 0;
    if (moved) {
        uint64_t *longest_ns = &overdue->longest_ns[before.occupation];
        if (overdue->begun && *longest_ns < overdue->still_ns)
            *longest_ns = overdue->still_ns;
        overdue->still_ns = 0;
    }
    overdue->begun = true;
    overdue->asked = overdue->asked || asked;
    overdue->seen = liveness;
    overdue->looked_ns = now_ns;

    const uint64_t limit_ns = sh_overdue_limit_ns(overdue, liveness.occupation);
    const bool still =
        overdue->limits[liveness.occupation].at_once || overdue->still_ns >= limit_ns;
    return overdue->asked && overdue->asked_ns >= limit_ns && still;
}
