/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the records of each device with a token bucket. Records beyond the limit are dropped and
 * counted, so that no device fills the shared journal queue or the disk.
 *
 *     sh_rate_limiter_apply(&from->limiter, &batch, now_ns);
 *     sh_run_journal_batch(journal, device, &batch);
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_RATE_LIMITER_H
#define SHOAL_NODE_RATE_LIMITER_H

#include "node/record/telemetry.h"

/* Per second, and the size of a burst: a device makes some thousand steps per second with a small
 * model. */
#define SH_RATE_LIMITER_RECORDS 4096
#define SH_RATE_LIMITER_TELL_NS 1000000000ULL /* between reports of dropped records */

/* Initially zero. */
typedef struct sh_rate_limiter {
    bool begun;
    double left; /* records allowed at `at_ns` */
    uint64_t at_ns;
    uint64_t told_ns;
    uint64_t untold; /* dropped since the last report, by the device or here */
} sh_rate_limiter;

/* Cuts a batch. Sets its `dropped` to the number since the last report, or to 0 if that was less
 * than SH_RATE_LIMITER_TELL_NS ago. */
void sh_rate_limiter_apply(sh_rate_limiter *limiter, sh_telemetry_batch *batch, uint64_t now_ns);

#endif
