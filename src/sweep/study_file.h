/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of study files: YAML files with blocks, each of which lists values of settings
 * (shoal/options.def). The trials of a block are all combinations of its values.
 *
 *     name: lenet on few devices
 *     lab: ../lab/lab              # the lab's program, from this folder; for LAB settings
 *     all:                         # defaults of all blocks
 *       data: mnist:$DATA/mnist    # $NAME stands for an environment variable
 *       seed: [1, 2]
 *     blocks:
 *       - name: time
 *         devices: 1..10           # integers, also within a list: [1..4, 8]
 *         batch-size: [64, 256]
 *         seed: null               # removes the default
 *         exclude:                 # trials that match all settings of a rule
 *           - {devices: [9, 10], batch-size: 64}
 *
 * Unknown names and duplicate values are errors.
 *
 * Threads: any; a study is immutable.
 */
#ifndef SHOAL_SWEEP_STUDY_FILE_H
#define SHOAL_SWEEP_STUDY_FILE_H

#include <stdbool.h>

#include "base/fail.h"
#include "shoal/sweep.h"

#define SH_STUDY_BYTES_MAX (1u << 18) /* of a file */
#define SH_STUDY_BLOCKS_MAX 64
#define SH_STUDY_VALUES_MAX 256 /* of a setting */
#define SH_STUDY_RULES_MAX 64   /* of a block */
#define SH_STUDY_TRIALS_MAX 10000
#define SH_STUDY_TEXT_BYTES 1024 /* of a value */

typedef struct sh_study_trial {
    char id[SH_TRIAL_ID_BYTES];
    const char *block;
    const char *settings[SH_SETTING_COUNT]; /* in canonical form; NULL: not set */
} sh_study_trial;

typedef struct sh_study {
    const char *name;             /* or "" */
    const char *lab;              /* as in the file, or NULL */
    const sh_study_trial *trials; /* block by block; the last setting varies fastest */
    size_t trial_count;
    void *inside;
} sh_study;

/*
 * `*study` is owned: sh_study_free. SH_FORMAT: the message is "FILE:LINE:COLUMN: " and what is
 * expected. SH_LIMIT if the file exceeds a limit above. SH_NOT_FOUND and other errors of reading.
 */
sh_status sh_study_read(sh_study **study, const char *path) SHOAL_CHECKED;

/* `path` is for messages; it and `text` are copied. Errors as above. */
sh_status sh_study_parse(sh_study **study, const char *path, const char *text,
                         size_t bytes) SHOAL_CHECKED;
void sh_study_free(sh_study *study); /* NULL does nothing */

/* The training option, or NULL for a setting of the lab. Static storage. */
const sh_option *sh_study_option(sh_setting setting);

bool sh_study_trial_is_lab(const char *const settings[SH_SETTING_COUNT]);

/* A filter has the form "NAME=VALUE,NAME=VALUE". A trial matches if each named setting has one of
 * the values given for it. SH_INVALID: another form, or not a setting. */
sh_status sh_study_check_filter(const char *filter) SHOAL_CHECKED;
bool sh_study_matches(const char *filter, const char *const settings[SH_SETTING_COUNT]);

#endif
