/* SPDX-License-Identifier: Apache-2.0 */
#include "node/delivery/lull.h"

#define REST_TICKS 4
#define REST_DOUBLED_MOST 6

uint32_t sh_lull_look(sh_lull *lull, bool owes, uint64_t received)
{
    if (owes && received - lull->received < SH_LULL_CRUMB)
        return ++lull->ticks;
    lull->received = received;
    lull->ticks = 0;
    return 0;
}

void sh_lull_drop(sh_lull *lull)
{
    const uint32_t doubled = lull->drops < REST_DOUBLED_MOST ? lull->drops : REST_DOUBLED_MOST;
    lull->drops++;
    lull->rest = REST_TICKS << doubled;
}

void sh_lull_end(sh_lull *lull)
{
    lull->received = 0;
    lull->ticks = 0;
}

bool sh_lull_rests(sh_lull *lull)
{
    if (lull->rest == 0)
        return false;
    lull->rest--;
    return true;
}
