/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/retries.h"

#define NS_PER_MS UINT64_C(1000000)

void sh_retries_start(sh_retries *retries, uint64_t now_ns, uint32_t wait_s)
{
    *retries = (sh_retries){
        .began_ns = now_ns,
        .limit_ns = wait_s == UINT32_MAX ? UINT64_MAX : wait_s * 1000 * NS_PER_MS,
        .delay_ms = SH_RETRIES_FIRST_MS,
    };
}

bool sh_retries_next(uint32_t *delay_ms, sh_retries *retries, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns - retries->began_ns;
    if (passed_ns >= retries->limit_ns)
        return false;
    const uint64_t left_ms = (retries->limit_ns - passed_ns - 1) / NS_PER_MS + 1;
    *delay_ms = left_ms < retries->delay_ms ? (uint32_t)left_ms : retries->delay_ms;
    retries->delay_ms = retries->delay_ms < SH_RETRIES_LONGEST_MS / 2 ? retries->delay_ms * 2
                                                                      : SH_RETRIES_LONGEST_MS;
    return true;
}
