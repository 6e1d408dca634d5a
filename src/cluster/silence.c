/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/silence.h"

void sh_silence_begin(sh_silence *silence, uint64_t now_ms)
{
    *silence = (sh_silence){.begun_ms = now_ms, .heard_ms = now_ms, .recall_ms = now_ms};
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
    }
    if (pause_ms > silence->longest_ms[0])
        silence->longest_ms[0] = pause_ms;
    silence->heard_ms = now_ms;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t largest_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t sh_silence_longest_ms(const sh_silence *silence)
{
    return largest_of(silence->longest_ms[0], silence->longest_ms[1]);
}

uint64_t sh_silence_limit_ms(const sh_silence *silence, bool awaited)
{
    const bool is_new = silence->heard_ms - silence->begun_ms < SH_SILENCE_NEW_MS;
    const uint64_t longest_ms = sh_silence_longest_ms(silence);
    const uint64_t late_ms = longest_ms - least_of(longest_ms, SH_SILENCE_USUAL_MS);
    const uint64_t by_lateness =
        least_of(SH_SILENCE_USUAL_MS + SH_SILENCE_LATE_TIMES * late_ms, SH_SILENCE_LATE_MS);
    const uint64_t by_pause = least_of(SH_SILENCE_TIMES * longest_ms, SH_SILENCE_MOST_MS);
    const uint64_t least_ms = awaited && !is_new ? SH_SILENCE_LEAST_MS : SH_SILENCE_ALONE_MS;
    return largest_of(least_ms, largest_of(by_lateness, by_pause));
}
