/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles files of a run that temporarily cannot be written, such as on a full disk: the training
 * continues, reports it once, retries, and reports the recovery.
 *
 *     SH_TRY(sh_write_failures_note(&write_failures, SH_WRITE_FAILURE_CHECKPOINT, save(t), now_ns,
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_WRITE_FAILURES_H
#define SHOAL_NODE_JOB_WRITE_FAILURES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/run.h"

#define SH_WRITE_FAILURES_RETRY_NS 5000000000ull
#define SH_WRITE_FAILURES_LINES 256 /* pending lines of metrics; older ones are lost */

typedef enum sh_write_failure {
    SH_WRITE_FAILURE_CHECKPOINT,
    SH_WRITE_FAILURE_METRICS,
    SH_WRITE_FAILURE_BOARD,
    SH_WRITE_FAILURE_KINDS
} sh_write_failure;

/* Initially zero. */
typedef struct sh_write_failures {
    struct {
        bool lasts;
        uint64_t retry_ns;
        char reason[SH_MESSAGE_BYTES];
    } kind[SH_WRITE_FAILURE_KINDS];
    char *lines[SH_WRITE_FAILURES_LINES]; /* owned, oldest first */
    uint32_t line_count, lost_lines;
} sh_write_failures;

/* Whether a later attempt may succeed. */
bool sh_write_failures_may_pass(sh_status status);

/* SH_OK: the write succeeded or may succeed later; else `status` with its message. `text`: for the
 * user when a write failure begins or ends; else "". */
sh_status sh_write_failures_note(sh_write_failures *all, sh_write_failure kind, sh_status status,
                                 uint64_t now_ns, char text[SH_MESSAGE_BYTES]) SHOAL_CHECKED;

/* Whether a write failure lasts and the next attempt is due. */
bool sh_write_failures_is_due(const sh_write_failures *all, sh_write_failure kind, uint64_t now_ns);

/* Appends pending lines and `line` (copied; NULL: none) to the run's metrics. Keeps lines that
 * cannot be written for the next call. */
sh_status sh_write_failures_append(sh_write_failures *all, const sh_run *run,
                                   const char *line) SHOAL_CHECKED;

/* Names what was never completely written, except checkpoints; false: nothing. */
bool sh_write_failures_left(const sh_write_failures *all, char text[SH_MESSAGE_BYTES]);

void sh_write_failures_release(sh_write_failures *all);

#endif
