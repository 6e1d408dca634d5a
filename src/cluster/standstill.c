/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/standstill.h"

void sh_standstill_begin(sh_standstill *standstill, uint64_t now_ms)
{
    *standstill = (sh_standstill){.moved_ms = now_ms, .recall_ms = now_ms};
}

static void keep(struct sh_standstill_pauses *pauses, uint64_t pause_ms)
{
    if (pause_ms > pauses->longest_ms) {
        pauses->second_ms = pauses->longest_ms;
        pauses->longest_ms = pause_ms;
    } else if (pause_ms > pauses->second_ms) {
        pauses->second_ms = pause_ms;
    }
}

static struct sh_standstill_pauses recall(const sh_standstill *standstill)
{
    struct sh_standstill_pauses all = standstill->pauses[0];
    keep(&all, standstill->pauses[1].longest_ms);
    keep(&all, standstill->pauses[1].second_ms);
    return all;
}

/* Records a pause. Records age only while the device works, so that those before a long wait still
 * count. */
static void remember(sh_standstill *standstill, uint64_t pause_ms, uint64_t now_ms)
{
    if (now_ms - standstill->recall_ms >= SH_STANDSTILL_RECALL_MS) {
        standstill->pauses[1] = standstill->pauses[0];
        standstill->pauses[0] = (struct sh_standstill_pauses){0};
        standstill->recall_ms = now_ms;
    }
    keep(&standstill->pauses[0], pause_ms);
}

void sh_standstill_note(sh_standstill *standstill, uint64_t progress, bool works, uint64_t now_ms)
{
    const bool got_on = progress != standstill->progress || !works;
    if (standstill->works && got_on)
        remember(standstill, now_ms - standstill->moved_ms, now_ms);
    if (!standstill->works || got_on)
        standstill->moved_ms = now_ms;
    standstill->progress = progress;
    standstill->works = works;
}

uint64_t sh_standstill_ms(const sh_standstill *standstill, uint64_t now_ms)
{
    return standstill->works ? now_ms - standstill->moved_ms : 0;
}

uint64_t sh_standstill_longest_ms(const sh_standstill *standstill)
{
    return recall(standstill).longest_ms;
}

uint64_t sh_standstill_limit_ms(const sh_standstill *standstill)
{
    const struct sh_standstill_pauses all = recall(standstill);
    const uint64_t twice_ms = SH_STANDSTILL_ONCE_TIMES * all.longest_ms;
    const uint64_t by_longest = twice_ms < SH_STANDSTILL_ONCE_MS ? twice_ms : SH_STANDSTILL_ONCE_MS;
    const uint64_t by_second = SH_STANDSTILL_TIMES * all.second_ms;
    const uint64_t limit_ms = by_longest > by_second ? by_longest : by_second;
    return limit_ms < SH_STANDSTILL_LEAST_MS ? SH_STANDSTILL_LEAST_MS : limit_ms;
}
