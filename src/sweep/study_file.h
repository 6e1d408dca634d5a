/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study as it is written: a YAML file with blocks, each of which has values for settings
 * (shoal/options.def). The trials of a block are all combinations of its values.
 *
 *     name: lenet on few devices
 *     lab: ../lab/lab              # the lab's program, from here; needed where LAB settings are
 *     all:                         # what every block has unless it says otherwise
 *       data: mnist:$DATA/mnist    # $NAME stands for an environment variable
 *       seed: [1, 2]
 *     blocks:
 *       - name: time
 *         model: lenet
 *         devices: 1..10           # whole numbers, also within a list: [1..4, 8]
 *         batch-size: [64, 256]
 *         seed: null               # not set after all
 *         exclude:
 *           - {devices: [9, 10], batch-size: 64}
 *
 * A rule of `exclude` removes the trials that have all the values it names. Nothing is ignored: an
 * unknown name is refused, and so is a value that stands twice.
 *
 * Threads: a study is a value that does not change.
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
    const char *settings[SH_SETTING_COUNT]; /* as numbers are usually written; NULL: not set */
} sh_study_trial;

typedef struct sh_study {
    const char *name;             /* "" where it has none */
    const char *lab;              /* as it stands in the file; NULL: not there */
    const sh_study_trial *trials; /* block by block, later settings change first */
    size_t trial_count;
    void *inside;
} sh_study;

/*
 * Reads a file. SH_FORMAT says "FILE:LINE:COLUMN: " and what is expected; SH_LIMIT where there is
 * more than the limits above; SH_NOT_FOUND and others of reading. `*study` is owned.
 */
sh_status sh_study_read(sh_study **study, const char *path) SHOAL_CHECKED;

/* The same from `bytes` of text; `path` is for messages. Both are copied. */
sh_status sh_study_parse(sh_study **study, const char *path, const char *text,
                         size_t bytes) SHOAL_CHECKED;
void sh_study_free(sh_study *study); /* NULL is fine */

/* The option of a training that the setting is; NULL: the lab's. Static storage. */
const sh_option *sh_study_option(sh_setting setting);

/* Whether it has a setting that only the lab can give. */
bool sh_study_trial_is_lab(const char *const settings[SH_SETTING_COUNT]);

/*
 * A filter "NAME=VALUE,NAME=VALUE" for trials: a trial matches if each name has one of the values
 * given for it. SH_INVALID where a name is no setting or the form is another.
 */
sh_status sh_study_check_filter(const char *filter) SHOAL_CHECKED;
bool sh_study_matches(const char *filter, const char *const settings[SH_SETTING_COUNT]);

#endif
