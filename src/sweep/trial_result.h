/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came of a trial, from the files that its program has left in its folder.
 *
 *     SH_TRY(sh_trial_result_read(&trial, folder, exit_status));
 *     if (trial.state == SH_TRIAL_FAILED)
 *         ... trial.message ...
 *
 * Threads: any.
 */
#ifndef SHOAL_SWEEP_TRIAL_RESULT_H
#define SHOAL_SWEEP_TRIAL_RESULT_H

#include "shoal/sweep.h"

#define SH_TRIAL_LOG "output.log" /* what the program has printed */

/*
 * Sets state, figures (but wall_seconds), hash and message: DONE where the program ended well and
 * its summary says that the training was complete, else FAILED with the program's last words.
 */
void sh_trial_result_read(sh_trial *trial, const char *folder, int exit_status);

#endif
