/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a data set, before anything trains with it.
 *
 *     sh_job job;
 *     sh_job_init(&job);
 *     snprintf(job.data, sizeof job.data, "mnist:/data/mnist");
 *     char *json;
 *     if (sh_data_survey(&json, &job, 0) == SH_OK)
 *         puts(json);
 *     free(json);
 *
 * Threads: the call blocks, and may be made from any thread.
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
 * packs them if a training would, and reads every sample once. The result has kind, task, size,
 * samples of each class and split, ranges of targets, constant inputs, duplicate samples, the
 * reader's notes, and the choices of `shoal train auto`. If `examples` (at most
 * SH_DATA_EXAMPLES_MOST) is not 0, reads the samples twice more and adds that many pictures of
 * typical and of odd samples. `*json` is a JSON object as text, owned: free() it. Fails as opening
 * and reading the data do.
 */
SHOAL_API sh_status sh_data_survey(char **json, const sh_job *job, uint32_t examples) SHOAL_CHECKED;

/*
 * A page of what a survey found, with the pictures that it has: HTML that asks for nothing from
 * outside. `title` is its title. `*html` is owned: free() it. SH_FORMAT where `json` is no survey.
 */
SHOAL_API sh_status sh_data_page(char **html, const char *json, const char *title) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
