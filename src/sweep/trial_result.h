/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the result of a trial from the files in its folder.
 *
 *     sh_trial_result_read(&trial, folder, exit_status);
 *     if (trial.state == SH_TRIAL_FAILED)
 *         ... trial.message ...
 *
 * Threads: any.
 */
#ifndef SHOAL_SWEEP_TRIAL_RESULT_H
#define SHOAL_SWEEP_TRIAL_RESULT_H

#include "shoal/sweep.h"

#define SH_TRIAL_LOG "output.log"

/*
 * Sets state, figures (except wall_seconds), hash and message. DONE: the program succeeded and its
 * summary reports a completed training; else FAILED, with the end of the program's output as
 * message.
 */
void sh_trial_result_read(sh_trial *trial, const char *folder, int exit_status);

#endif
