/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/silence.h"

void sh_silence_begin(sh_silence *silence, uint64_t now_ms)
{
    *silence = (sh_silence){.heard_ms = now_ms, .recall_ms = now_ms};
}

uint64_t sh_silence_ms(const sh_silence *silence, uint64_t now_ms)
{
    return now_ms - silence->heard_ms;
}

void sh_silence_heard(sh_silence *silence, uint64_t now_ms)
{
    const uint64_t pause_ms = sh_silence_ms(silence, now_ms);
    if (now_ms - silence->recall_ms >= SH_SILENCE_RECALL_MS) {
        silence->longest_ms[1] = silence->longest_ms[0];
        silence->longest_ms[0] = 0;
        silence->recall_ms = now_ms;
        silence->known = true;
    }
    if (pause_ms > silence->longest_ms[0])
        silence->longest_ms[0] = pause_ms;
    silence->heard_ms = now_ms;
}

uint64_t sh_silence_limit_ms(const sh_silence *silence, bool awaited)
{
    const uint64_t *const longest_ms = silence->longest_ms;
    const uint64_t least_ms = awaited && silence->known ? SH_SILENCE_LEAST_MS : SH_SILENCE_ALONE_MS;
    const uint64_t limit_ms =
        SH_SILENCE_TIMES * (longest_ms[0] > longest_ms[1] ? longest_ms[0] : longest_ms[1]);
    if (limit_ms < least_ms)
        return least_ms;
    return limit_ms > SH_SILENCE_MOST_MS ? SH_SILENCE_MOST_MS : limit_ms;
}
