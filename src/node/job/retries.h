/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules retries for something unreachable: soon at first, then every few seconds, until the
 * time is up.
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

/* Starts at `now_ns`. `wait_s` 0: no retry; UINT32_MAX: no limit. */
void sh_retries_start(sh_retries *retries, uint64_t now_ns, uint32_t wait_s);

/* After a failed try: the delay before the next one. It doubles each time, up to
 * SH_RETRIES_LONGEST_MS; the last try is at the limit. False: the time is up. */
bool sh_retries_next(uint32_t *delay_ms, sh_retries *retries, uint64_t now_ns);

#endif
