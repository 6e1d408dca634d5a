/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const sh_clock *sh_clock_system(void)
{
    static const sh_clock system_clock = {.now_ns = monotonic_ns};
    return &system_clock;
}

struct timespec sh_clock_date(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

double sh_process_cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Unlike getrusage's peak, this excludes what the process was before this program. */
uint64_t sh_process_peak_rss_bytes(void)
{
    char line[128];
    uint64_t kibibytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %" SCNu64, &kibibytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    if (kibibytes != 0)
        return kibibytes * 1024;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024; /* kibibytes on Linux */
}

uint64_t sh_process_rss_bytes(void)
{
    uint64_t size, resident = 0; /* pages: Linux's /proc/self/statm */
    FILE *file = fopen("/proc/self/statm", "re");
    const bool read = file != NULL && fscanf(file, "%" SCNu64 " %" SCNu64, &size, &resident) == 2;
    if (file != NULL)
        fclose(file);
    return read ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : sh_process_peak_rss_bytes();
}
