/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/backoff.h"

#define NS_PER_MS UINT64_C(1000000)

void sh_backoff_start(sh_backoff *backoff, uint64_t now_ns, uint32_t wait_s)
{
    *backoff = (sh_backoff){
        .began_ns = now_ns,
        .limit_ns = wait_s == UINT32_MAX ? UINT64_MAX : wait_s * 1000 * NS_PER_MS,
        .delay_ms = SH_BACKOFF_FIRST_MS,
    };
}

bool sh_backoff_next(uint32_t *delay_ms, sh_backoff *backoff, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns - backoff->began_ns;
    if (passed_ns >= backoff->limit_ns)
        return false;
    const uint64_t left_ms = (backoff->limit_ns - passed_ns - 1) / NS_PER_MS + 1;
    *delay_ms = left_ms < backoff->delay_ms ? (uint32_t)left_ms : backoff->delay_ms;
    backoff->delay_ms = backoff->delay_ms < SH_BACKOFF_LONGEST_MS / 2 ? backoff->delay_ms * 2
                                                                      : SH_BACKOFF_LONGEST_MS;
    return true;
}
