/* SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptors.h"

#include <sys/resource.h>

void sh_descriptors_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    const rlim_t most = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > SH_DESCRIPTORS_MOST
                            ? SH_DESCRIPTORS_MOST
                            : limit.rlim_max;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < most) {
        limit.rlim_cur = most;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool sh_descriptors_are_short(int fresh)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           (rlim_t)fresh + SH_DESCRIPTORS_RESERVE >= limit.rlim_cur;
}
