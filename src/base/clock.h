/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time as a parameter, so that tests can control it.
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
    uint64_t (*now_ns)(void *context); /* monotonic, with an arbitrary origin */
    void *context;
} sh_clock;

/* Monotonic. Static storage. */
const sh_clock *sh_clock_system(void);

static inline uint64_t sh_clock_now_ns(const sh_clock *clock)
{
    return clock->now_ns(clock->context);
}

/* The date and time of day, which may change: for people, never for durations. */
struct timespec sh_clock_date(void);

/* Processor seconds of all threads. */
double sh_process_cpu_seconds(void);

uint64_t sh_process_peak_rss_bytes(void);

/* Returns the peak if the system does not tell. */
uint64_t sh_process_rss_bytes(void);

#endif
