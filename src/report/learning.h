/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the learning rates of a run's steps with train/rate.h from its job and the changes in
 * its job.json (node/job/changes.h).
 *
 *     SH_TRY(sh_learning_rates(digest, "runs/a"));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_LEARNING_H
#define SHOAL_REPORT_LEARNING_H

#include "report/run_digest.h"

/* Sets the learning rate of each point. It stays NaN if this version cannot read the job, and with
 * local:H, whose steps have several rates. `path` is that of the digest. SH_NO_MEMORY. */
sh_status sh_learning_rates(sh_run_digest *digest, const char *path) SHOAL_CHECKED;

#endif
