/* SPDX-License-Identifier: Apache-2.0 */
#include "node/delivery/slow_source.h"

#define REST_TICKS 4
#define REST_DOUBLED_MOST 6

uint32_t sh_slow_source_look(sh_slow_source *slow, bool owes, uint64_t received)
{
    if (owes && received - slow->received < SH_SLOW_SOURCE_CRUMB)
        return ++slow->ticks;
    slow->received = received;
    slow->ticks = 0;
    return 0;
}

void sh_slow_source_drop(sh_slow_source *slow)
{
    const uint32_t doubled = slow->drops < REST_DOUBLED_MOST ? slow->drops : REST_DOUBLED_MOST;
    slow->drops++;
    slow->rest = REST_TICKS << doubled;
}

void sh_slow_source_end(sh_slow_source *slow)
{
    slow->received = 0;
    slow->ticks = 0;
}

bool sh_slow_source_is_paused(sh_slow_source *slow)
{
    if (slow->rest == 0)
        return false;
    slow->rest--;
    return true;
}
