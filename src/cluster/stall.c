/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/stall.h"

void sh_stall_begin(sh_stall *stall, uint64_t now_ms)
{
    *stall = (sh_stall){.moved_ms = now_ms, .recall_ms = now_ms};
}

static void keep(struct sh_stall_pauses *pauses, uint64_t pause_ms)
{
    if (pause_ms > pauses->longest_ms) {
        pauses->second_ms = pauses->longest_ms;
        pauses->longest_ms = pause_ms;
    } else if (pause_ms > pauses->second_ms) {
        pauses->second_ms = pause_ms;
    }
}

static struct sh_stall_pauses recall(const sh_stall *stall)
{
    struct sh_stall_pauses all = stall->pauses[0];
    keep(&all, stall->pauses[1].longest_ms);
    keep(&all, stall->pauses[1].second_ms);
    return all;
}

/* Records age only while the device works, so that those before a long wait still count. */
static void remember(sh_stall *stall, uint64_t pause_ms, uint64_t now_ms)
{
    if (now_ms - stall->recall_ms >= SH_STALL_RECALL_MS) {
        stall->pauses[1] = stall->pauses[0];
        stall->pauses[0] = (struct sh_stall_pauses){0};
        stall->recall_ms = now_ms;
    }
    keep(&stall->pauses[0], pause_ms);
}

void sh_stall_note(sh_stall *stall, uint64_t progress, bool works, uint64_t now_ms)
{
    const bool got_on = progress != stall->progress || !works;
    if (stall->works && got_on)
        remember(stall, now_ms - stall->moved_ms, now_ms);
    if (!stall->works || got_on)
        stall->moved_ms = now_ms;
    stall->progress = progress;
    stall->works = works;
}

uint64_t sh_stall_ms(const sh_stall *stall, uint64_t now_ms)
{
    return stall->works ? now_ms - stall->moved_ms : 0;
}

uint64_t sh_stall_longest_ms(const sh_stall *stall)
{
    return recall(stall).longest_ms;
}

uint64_t sh_stall_limit_ms(const sh_stall *stall)
{
    const struct sh_stall_pauses all = recall(stall);
    const uint64_t twice_ms = SH_STALL_ONCE_TIMES * all.longest_ms;
    const uint64_t by_longest = twice_ms < SH_STALL_ONCE_MS ? twice_ms : SH_STALL_ONCE_MS;
    const uint64_t by_second = SH_STALL_TIMES * all.second_ms;
    const uint64_t limit_ms = by_longest > by_second ? by_longest : by_second;
    return limit_ms < SH_STALL_LEAST_MS ? SH_STALL_LEAST_MS : limit_ms;
}
