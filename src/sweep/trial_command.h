/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the command that runs a trial: `shoal train`, or for a trial with settings of the lab,
 * `lab run` with a generated file (format: lab/README.md). Both write their summary to
 * SH_TRIAL_SUMMARY in the trial's folder.
 *
 *     SH_TRY(sh_trial_command_make(&command, trial->settings, &place));
 *     execv(command.arguments[0], command.arguments);
 *     sh_trial_command_release(&command);
 *
 * Threads: any, while no thread changes the environment, which is read.
 */
#ifndef SHOAL_SWEEP_TRIAL_COMMAND_H
#define SHOAL_SWEEP_TRIAL_COMMAND_H

#include "base/memory.h"
#include "shoal/sweep.h"

#define SH_TRIAL_SUMMARY "summary.json"
#define SH_TRIAL_LAB_FILE "lab.toml"

/* Paths are absolute or relative to the working folder. */
typedef struct sh_trial_place {
    const char *folder;
    const char *program; /* shoal */
    const char *lab;     /* NULL: trials of the lab fail */
} sh_trial_place;

typedef struct sh_trial_command {
    sh_arena arena;
    char **arguments; /* the program first, ended by NULL; in the arena */
    char *lab_file;   /* of SH_TRIAL_LAB_FILE, or NULL; owned */
} sh_trial_command;

/* Settings are those of sh_study_trial. SH_NOT_FOUND: an environment variable is not set. Release
 * *command on success only. */
sh_status sh_trial_command_make(sh_trial_command *command,
                                const char *const settings[SH_SETTING_COUNT],
                                const sh_trial_place *place) SHOAL_CHECKED;
void sh_trial_command_release(sh_trial_command *command);

#endif
