/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a job as values: what goes through shoal/options.def row by row, so that nothing
 * else has to name each option.
 *
 *     for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
 *         if (each->owner == SH_OPTION_OF_JOB && !sh_option_same(each, asked, saved))
 *             ... sh_option_print(text, each, asked) ...
 *
 * Threads: any; `option` is of the job wherever a job is given.
 */
#ifndef SHOAL_TRAIN_JOB_OPTIONS_H
#define SHOAL_TRAIN_JOB_OPTIONS_H

#include "base/fail.h"
#include "shoal/job.h"

#define SH_OPTION_LABEL_BYTES 40
#define SH_OPTION_TEXT_BYTES 132

/* The value of one that is a float, or a whole number of any kind. */
float sh_option_float(const sh_option *option, const sh_job *job);
uint64_t sh_option_whole(const sh_option *option, const sh_job *job);

/* How messages name it: "--lr"; "model" where it is typed without a name. Returns `label`. */
const char *sh_option_label(char label[SH_OPTION_LABEL_BYTES], const sh_option *option);

/* Its value, texts cut. Returns `text`. */
const char *sh_option_print(char text[SH_OPTION_TEXT_BYTES], const sh_option *option,
                            const sh_job *job);

bool sh_option_is_given(const sh_option *option, const sh_job_given *given);
bool sh_option_same(const sh_option *option, const sh_job *a, const sh_job *b);
void sh_option_copy(const sh_option *option, sh_job *to, const sh_job *from);

/* Checks the option by itself. SH_INVALID names it, its value and its range. */
sh_status sh_option_check(const sh_option *option, const sh_job *job) SHOAL_CHECKED;

/* Whether all options are the same. */
bool sh_job_same(const sh_job *a, const sh_job *b);

#endif
