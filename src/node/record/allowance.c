/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/allowance.h"

static uint32_t take(sh_allowance *allowance, uint32_t wanted)
{
    const uint32_t allowed = allowance->left < wanted ? (uint32_t)allowance->left : wanted;
    allowance->left -= allowed;
    allowance->untold += wanted - allowed;
    return allowed;
}

void sh_allowance_apply(sh_allowance *allowance, sh_telemetry_batch *batch, uint64_t now_ns)
{
    if (!allowance->begun)
        *allowance = (sh_allowance){.begun = true, .left = SH_ALLOWANCE_RECORDS, .at_ns = now_ns};
    allowance->left += (double)(now_ns - allowance->at_ns) * 1e-9 * SH_ALLOWANCE_RECORDS;
    if (allowance->left > SH_ALLOWANCE_RECORDS)
        allowance->left = SH_ALLOWANCE_RECORDS;
    allowance->at_ns = now_ns;
    allowance->untold += batch->dropped;
    batch->dropped = 0;
    batch->sample_count = take(allowance, batch->sample_count);
    batch->step_count = take(allowance, batch->step_count);
    const bool first = allowance->told_ns == 0;
    if (allowance->untold == 0 || (!first && now_ns - allowance->told_ns < SH_ALLOWANCE_TELL_NS))
        return;
    batch->dropped = allowance->untold < UINT32_MAX ? (uint32_t)allowance->untold : UINT32_MAX;
    allowance->untold = 0;
    allowance->told_ns = now_ns;
}
