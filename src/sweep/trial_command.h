/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that does a trial: `shoal train`, or where it has settings of the lab's, `lab run`
 * with a file that is written for it (lab/README.md has its form).
 *
 *     SH_TRY(sh_trial_command_make(&command, trial->settings, &place));
 *     execv(command.arguments[0], command.arguments);
 *     sh_trial_command_release(&command);
 *
 * Either leaves its summary in the trial's folder as SH_TRIAL_SUMMARY, beside the run's folder.
 *
 * Threads: any; the environment is read.
 */
#ifndef SHOAL_SWEEP_TRIAL_COMMAND_H
#define SHOAL_SWEEP_TRIAL_COMMAND_H

#include "base/memory.h"
#include "shoal/sweep.h"

#define SH_TRIAL_SUMMARY "summary.json"
#define SH_TRIAL_LAB_FILE "lab.toml"

/* Where it is done, and by what; paths are absolute, or from the working folder. */
typedef struct sh_trial_place {
    const char *folder;
    const char *program; /* shoal's */
    const char *lab;     /* NULL: trials of the lab are refused */
} sh_trial_place;

typedef struct sh_trial_command {
    sh_arena arena;
    char **arguments; /* the program first, NULL last; in the arena */
    char *lab_file;   /* the content of SH_TRIAL_LAB_FILE; NULL: none is needed; free() */
} sh_trial_command;

/* Settings are as of sh_study_trial. SH_NOT_FOUND where one names an environment variable that is
 * not set. */
sh_status sh_trial_command_make(sh_trial_command *command,
                                const char *const settings[SH_SETTING_COUNT],
                                const sh_trial_place *place) SHOAL_CHECKED;
void sh_trial_command_release(sh_trial_command *command);

#endif
