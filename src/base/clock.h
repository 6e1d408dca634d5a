/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time as something that is handed in, so that tests can make it.
 *
 *     const uint64_t start_ns = sh_clock_now_ns(clock);
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_CLOCK_H
#define SHOAL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

typedef struct sh_clock {
    uint64_t (*now_ns)(void *context); /* never goes back; its zero means nothing */
    void *context;
} sh_clock;

/* The system's monotonic clock. Static storage. */
const sh_clock *sh_clock_system(void);

static inline uint64_t sh_clock_now_ns(const sh_clock *clock)
{
    return clock->now_ns(clock->context);
}

/* The date and time of day, which somebody may set while we run: for stamps and names that people
 * read, never for a duration. */
struct timespec sh_clock_date(void);

/* Seconds of processor time that this process has used, all threads. */
double sh_process_cpu_seconds(void);

/* Most bytes of memory that this process has held resident at any time. */
uint64_t sh_process_peak_rss_bytes(void);

/* Bytes of memory that this process holds resident now; the most so far where nobody can tell. */
uint64_t sh_process_rss_bytes(void);

#endif
