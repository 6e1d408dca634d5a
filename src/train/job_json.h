/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as JSON: job.json, what a checkpoint says of its job, and what devices that join are told.
 *
 *     SH_TRY(sh_job_to_text(&text, &job));
 *     ...
 *     SH_TRY(sh_job_from_text(&job, text));
 *
 * It is an object with a key for each option of the job, by the member's name in C
 * (shoal/options.def). Whole numbers are signed: a seed of 2^63 or more is written as a negative
 * one. Reading refuses what is missing, of another type, out of range for its type, or unknown; it
 * does not complete the job (sh_job_complete).
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_JOB_JSON_H
#define SHOAL_TRAIN_JOB_JSON_H

#include <jansson.h>

#include "base/fail.h"
#include "shoal/job.h"

#define SH_JOB_TEXT_MAX 16384 /* bytes of a job as text */

/* `*json` is owned: json_decref(). SH_INVALID where a text is not UTF-8. */
sh_status sh_job_to_json(json_t **json, const sh_job *job) SHOAL_CHECKED;

/*
 * SH_FORMAT names the key, SH_VERSION one that this version does not know. An option that came
 * later than the first files (json_at 0) may be missing and then has its default.
 */
sh_status sh_job_from_json(sh_job *job, const json_t *json) SHOAL_CHECKED;

/* As text in one line. `*text` is owned: free(). */
sh_status sh_job_to_text(char **text, const sh_job *job) SHOAL_CHECKED;

/* From a device of the same version: nothing is missing, and texts have no control characters. */
sh_status sh_job_from_text(sh_job *job, const char *text) SHOAL_CHECKED;

#endif
