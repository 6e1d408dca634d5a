/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/rate_limiter.h"

static uint32_t take(sh_rate_limiter *limiter, uint32_t wanted)
{
    const uint32_t allowed = limiter->left < wanted ? (uint32_t)limiter->left : wanted;
    limiter->left -= allowed;
    limiter->untold += wanted - allowed;
    return allowed;
}

void sh_rate_limiter_apply(sh_rate_limiter *limiter, sh_telemetry_batch *batch, uint64_t now_ns)
{
    if (!limiter->begun)
        *limiter =
            (sh_rate_limiter){.begun = true, .left = SH_RATE_LIMITER_RECORDS, .at_ns = now_ns};
    limiter->left += (double)(now_ns - limiter->at_ns) * 1e-9 * SH_RATE_LIMITER_RECORDS;
    if (limiter->left > SH_RATE_LIMITER_RECORDS)
        limiter->left = SH_RATE_LIMITER_RECORDS;
    limiter->at_ns = now_ns;
    limiter->untold += batch->dropped;
    batch->dropped = 0;
    batch->sample_count = take(limiter, batch->sample_count);
    batch->step_count = take(limiter, batch->step_count);
    const bool first = limiter->told_ns == 0;
    if (limiter->untold == 0 || (!first && now_ns - limiter->told_ns < SH_RATE_LIMITER_TELL_NS))
        return;
    batch->dropped = limiter->untold < UINT32_MAX ? (uint32_t)limiter->untold : UINT32_MAX;
    limiter->untold = 0;
    limiter->told_ns = now_ns;
}
