/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/checkpoint_interval.h"

#include <string.h>

#define USUAL "60s"
#define MOST UINT64_C(1000000000)
#define SECOND_NS UINT64_C(1000000000)

sh_status sh_checkpoint_interval_parse(sh_checkpoint_interval *interval, const char *text)
{
    const char *from = text != NULL ? text : USUAL, *at = from;
    uint64_t number = 0;
    while (*at >= '0' && *at <= '9' && number <= MOST)
        number = 10 * number + (uint64_t)(*at++ - '0');
    const bool seconds = strcmp(at, "s") == 0, steps = strcmp(at, "steps") == 0;
    const bool never = number == 0 && *at == '\0';
    if (at == from || number > MOST || !(seconds || steps || never))
        return sh_fail(SH_INVALID,
                       "--checkpoint-every %.64s: must be seconds, such as 60s, or steps, such as "
                       "100steps, at most %llu, or 0 for none within an epoch",
                       from, (unsigned long long)MOST);
    *interval = (sh_checkpoint_interval){
        .every_ns = seconds ? number * SECOND_NS : 0,
        .every_steps = steps ? number : 0,
    };
    return SH_OK;
}

void sh_checkpoint_interval_restart(sh_checkpoint_interval *interval, uint64_t now_ns,
                                    uint64_t steps)
{
    interval->last_ns = now_ns;
    interval->last_steps = steps;
}

bool sh_checkpoint_interval_is_due(const sh_checkpoint_interval *interval, uint64_t now_ns,
                                   uint64_t steps)
{
    return (interval->every_ns > 0 && now_ns - interval->last_ns >= interval->every_ns) ||
           (interval->every_steps > 0 && steps - interval->last_steps >= interval->every_steps);
}
