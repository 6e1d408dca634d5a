/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules retries for something unreachable: soon at first, then every few seconds, until the
 * time is up.
 *
 *     sh_backoff_start(&backoff, now_ns, wait_s);
 *     while (try() != SH_OK && sh_backoff_next(&delay_ms, &backoff, now_ns()))
 *         sleep_ms(delay_ms);
 *
 * Threads: values; caller locks.
 */
#ifndef SHOAL_NODE_BACKOFF_H
#define SHOAL_NODE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#define SH_BACKOFF_FIRST_MS 250
#define SH_BACKOFF_LONGEST_MS 4000

typedef struct sh_backoff {
    uint64_t began_ns, limit_ns; /* UINT64_MAX: no limit */
    uint32_t delay_ms;
} sh_backoff;

/* `wait_s` 0: no retry; UINT32_MAX: no limit. */
void sh_backoff_start(sh_backoff *backoff, uint64_t now_ns, uint32_t wait_s);

/* The delay before the next try. It doubles each time, up to SH_BACKOFF_LONGEST_MS; the last try is
 * at the limit. False: the time is up. */
bool sh_backoff_next(uint32_t *delay_ms, sh_backoff *backoff, uint64_t now_ns);

#endif
