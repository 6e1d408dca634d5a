/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The changes of a job by --resume, in a run's job.json:
 *
 *     "changes": [{"step": 640, "lr": [0.1, 0.01]}, ...]      from this step on: old, new
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_CHANGES_H
#define SHOAL_NODE_CHANGES_H

#include <jansson.h>

#include "base/fail.h"
#include "shoal/job.h"

#define SH_CHANGES_MAX 1024 /* older ones are omitted */

/*
 * Sets `changes` of `json`, the current job: those in `file`, the text of the previous job.json
 * (NULL or malformed: none), up to the checkpoint at `steps` with the job `before`; then the
 * differences between `before` and `now`. Omits the key without changes.
 */
sh_status sh_changes_add(json_t *json, const char *file, const sh_job *before, const sh_job *now,
                         uint64_t steps) SHOAL_CHECKED;

/* Writes the differences as "lr 0.1 becomes 0.01, warmup 0 becomes 2", truncated to `bytes`; "":
 * none. */
sh_status sh_changes_print(char *text, size_t bytes, const sh_job *before,
                           const sh_job *now) SHOAL_CHECKED;

#endif
