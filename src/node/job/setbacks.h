/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles files of a run that temporarily cannot be written, such as on a full disk: the training
 * continues, reports it once, retries, and reports the recovery.
 *
 *     SH_TRY(sh_setbacks_note(&setbacks, SH_SETBACK_CHECKPOINT, save(t), now_ns, text));
 *     if (text[0] != '\0')
 *         ... tell the user ...
 *     if (sh_setbacks_is_due(&setbacks, SH_SETBACK_CHECKPOINT, now_ns))
 *         ... try again ...
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_SETBACKS_H
#define SHOAL_NODE_JOB_SETBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/run.h"

#define SH_SETBACKS_RETRY_NS 5000000000ull
#define SH_SETBACKS_LINES 256 /* pending lines of metrics; older ones are lost */

typedef enum sh_setback {
    SH_SETBACK_CHECKPOINT,
    SH_SETBACK_METRICS,
    SH_SETBACK_BOARD, /* TensorBoard's file */
    SH_SETBACK_KINDS
} sh_setback;

/* Initially zero. */
typedef struct sh_setbacks {
    struct {
        bool lasts;
        uint64_t retry_ns;
        char reason[SH_MESSAGE_BYTES]; /* of the last failure */
    } kind[SH_SETBACK_KINDS];
    char *lines[SH_SETBACKS_LINES]; /* owned, oldest first */
    uint32_t line_count, lost_lines;
} sh_setbacks;

/* Whether the disk may be the cause, so that a later attempt may succeed. */
bool sh_setbacks_may_pass(sh_status status);

/*
 * Notes the result of a write. Returns SH_OK if it succeeded or may succeed later, otherwise
 * `status` with its message. `text`: a message for the user when a setback begins or ends; else "".
 */
sh_status sh_setbacks_note(sh_setbacks *all, sh_setback kind, sh_status status, uint64_t now_ns,
                           char text[SH_MESSAGE_BYTES]) SHOAL_CHECKED;

/* Whether a setback lasts and the next attempt is due. */
bool sh_setbacks_is_due(const sh_setbacks *all, sh_setback kind, uint64_t now_ns);

/* Appends pending lines and `line` (copied; NULL: none) to the run's metrics. Keeps lines that
 * cannot be written for the next call. */
sh_status sh_setbacks_append(sh_setbacks *all, const sh_run *run, const char *line) SHOAL_CHECKED;

/* Names what was never completely written, except checkpoints; false: nothing. */
bool sh_setbacks_left(const sh_setbacks *all, char text[SH_MESSAGE_BYTES]);

/* Frees the lines. */
void sh_setbacks_release(sh_setbacks *all);

#endif
