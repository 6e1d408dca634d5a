/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/standstill.h"

void sh_standstill_begin(sh_standstill *standstill, uint64_t now_ms)
{
    *standstill = (sh_standstill){.moved_ms = now_ms, .recall_ms = now_ms};
}

/* Remembers a pause. What is remembered grows old only while it works, so that what it showed
 * before a long wait still counts. */
static void remember(sh_standstill *standstill, uint64_t pause_ms, uint64_t now_ms)
{
    if (now_ms - standstill->recall_ms >= SH_STANDSTILL_RECALL_MS) {
        standstill->longest_ms[1] = standstill->longest_ms[0];
        standstill->longest_ms[0] = 0;
        standstill->recall_ms = now_ms;
    }
    if (pause_ms > standstill->longest_ms[0])
        standstill->longest_ms[0] = pause_ms;
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
    const uint64_t *const longest_ms = standstill->longest_ms;
    return longest_ms[0] > longest_ms[1] ? longest_ms[0] : longest_ms[1];
}

uint64_t sh_standstill_limit_ms(const sh_standstill *standstill)
{
    const uint64_t limit_ms = SH_STANDSTILL_TIMES * sh_standstill_longest_ms(standstill);
    return limit_ms < SH_STANDSTILL_LEAST_MS ? SH_STANDSTILL_LEAST_MS : limit_ms;
}
