/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines a data set before training.
 *
 *     sh_job job;
 *     sh_job_init(&job);
 *     snprintf(job.data, sizeof job.data, "mnist:/data/mnist");
 *     char *json;
 *     if (sh_data_survey(&json, &job, 0) == SH_OK)
 *         puts(json);
 *     free(json);
 *
 * Threads: any; the call blocks.
 */
#ifndef SHOAL_DATA_H
#define SHOAL_DATA_H

#include "shoal/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_DATA_EXAMPLES_MOST 24

/*
 * Describes the job's data. Opens them with the options that affect reading (sh_option_reads),
 * packs them if a training would, and reads each sample once. The result has kind, task, size,
 * samples per class and split, ranges of targets, constant inputs, duplicate samples, the reader's
 * notes, and the choices of `shoal train auto`. If `examples` (at most SH_DATA_EXAMPLES_MOST) is
 * not 0, reads the samples twice more and adds that many pictures of typical and of unusual
 * samples. `*json` is a JSON object as text, owned: free() it. Fails if the data cannot be opened
 * or read.
 */
SHOAL_API sh_status sh_data_survey(char **json, const sh_job *job, uint32_t examples) SHOAL_CHECKED;

/* Makes a self-contained HTML page of a survey. `*html` is owned: free() it. SH_FORMAT: `json` is
 * not a survey. */
SHOAL_API sh_status sh_data_page(char **html, const char *json, const char *title) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
