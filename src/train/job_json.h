/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as JSON: in job.json, in checkpoints, and in what joining devices receive.
 *
 * The object has one key per option of the job, named as the member in C (shoal/options.def). Whole
 * numbers are signed: a seed of 2^63 or more is written as a negative number. Reading refuses keys
 * that are missing, of the wrong type, out of range for their type, or unknown. It does not
 * complete the job (sh_job_complete).
 *
 *     SH_TRY(sh_job_to_text(&text, &job));
 *     ...
 *     SH_TRY(sh_job_from_text(&job, text));
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_JOB_JSON_H
#define SHOAL_TRAIN_JOB_JSON_H

#include <jansson.h>

#include "base/fail.h"
#include "shoal/job.h"

#define SH_JOB_TEXT_MAX 16384 /* bytes of a job as text, at most */

/* `*json` is owned; json_decref() it. SH_INVALID: a text is not UTF-8. */
sh_status sh_job_to_json(json_t **json, const sh_job *job) SHOAL_CHECKED;

/*
 * SH_FORMAT names an invalid or missing key, SH_VERSION an unknown one. Options that were added
 * after the first file format (json_at 0) may be missing and then get their defaults.
 */
sh_status sh_job_from_json(sh_job *job, const json_t *json) SHOAL_CHECKED;

/* Writes one line. `*text` is owned; free() it. */
sh_status sh_job_to_text(char **text, const sh_job *job) SHOAL_CHECKED;

/* Reads a text from a device of the same version: no option may be missing, and texts must not
 * contain control characters. Otherwise as sh_job_from_json. */
sh_status sh_job_from_text(sh_job *job, const char *text) SHOAL_CHECKED;

#endif
