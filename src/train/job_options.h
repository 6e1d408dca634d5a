/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generic access to the options of a job. Functions that handle all options iterate over the rows
 * of shoal/options.def.
 *
 *     for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
 *         if (each->owner == SH_OPTION_OF_JOB && !sh_option_same(each, asked, saved))
 *             ... sh_option_print(text, each, asked) ...
 *
 * If a function takes a job, `option` must be an option of the job.
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_JOB_OPTIONS_H
#define SHOAL_TRAIN_JOB_OPTIONS_H

#include "base/fail.h"
#include "shoal/job.h"

#define SH_OPTION_LABEL_BYTES 40
#define SH_OPTION_TEXT_BYTES 132

/* The value of a float option, or of a whole number of any kind. */
float sh_option_float(const sh_option *option, const sh_job *job);
uint64_t sh_option_whole(const sh_option *option, const sh_job *job);

/* Writes the option's name for messages: "--lr", or "model" for a positional argument. Returns
 * `label`. */
const char *sh_option_label(char label[SH_OPTION_LABEL_BYTES], const sh_option *option);

/* Writes the value; cuts long texts. Returns `text`. */
const char *sh_option_print(char text[SH_OPTION_TEXT_BYTES], const sh_option *option,
                            const sh_job *job);

bool sh_option_is_given(const sh_option *option, const sh_job_given *given);
bool sh_option_same(const sh_option *option, const sh_job *a, const sh_job *b);
void sh_option_copy(const sh_option *option, sh_job *to, const sh_job *from);

/* Checks one option alone. SH_INVALID names the option, its value and its range. */
sh_status sh_option_check(const sh_option *option, const sh_job *job) SHOAL_CHECKED;

bool sh_job_same(const sh_job *a, const sh_job *b);

#endif
