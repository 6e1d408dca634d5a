/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When to try again to reach something that is not there yet: soon at first, then every few
 * seconds, until the time is up.
 *
 *     sh_retries_start(&retries, now_ns, wait_s);
 *     while (try() != SH_OK && sh_retries_next(&delay_ms, &retries, now_ns()))
 *         sleep_ms(delay_ms);
 *
 * Threads: values; caller locks.
 */
#ifndef SHOAL_NODE_RETRIES_H
#define SHOAL_NODE_RETRIES_H

#include <stdbool.h>
#include <stdint.h>

#define SH_RETRIES_FIRST_MS 250
#define SH_RETRIES_LONGEST_MS 4000

typedef struct sh_retries {
    uint64_t began_ns, limit_ns; /* limit_ns UINT64_MAX: none */
    uint32_t delay_ms;           /* before the next try */
} sh_retries;

/* Begins to count at `now_ns`. `wait_s` 0: no second try; UINT32_MAX: no limit. */
void sh_retries_start(sh_retries *retries, uint64_t now_ns, uint32_t wait_s);

/* After a try that failed: how long to wait before the next one. Each delay is twice the one
 * before, at most SH_RETRIES_LONGEST_MS; the last one ends with the time. False: the time is up. */
bool sh_retries_next(uint32_t *delay_ms, sh_retries *retries, uint64_t now_ns);

#endif
