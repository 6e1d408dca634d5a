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
 * Opens the job's data by the options that say how they are read (sh_option_reads), which packs
 * them where a training would, and reads every sample once: kind, task, size, samples of each class
 * and split, ranges of targets, constant inputs, samples that are there twice, what the reader has
 * to say, and what `shoal train auto` would do with them. With `examples`, at most
 * SH_DATA_EXAMPLES_MOST, it reads them twice more and adds so many typical and odd samples as
 * pictures. `*json` is an object as text, owned: free() it. Fails as opening and reading the data
 * do.
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
