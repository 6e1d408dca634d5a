/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learning rate of a run's steps: worked out by train/rate.h from its job, and from the changes
 * that its job.json tells of (node/job/changes.h).
 *
 *     SH_TRY(sh_learning_rates(digest, "runs/a"));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_LEARNING_H
#define SHOAL_REPORT_LEARNING_H

#include "report/run_digest.h"

/*
 * Sets the learning rate of each point, which is that of its step. It stays NaN where the job is
 * not one that this version reads, and with the strategy local:H, where each step has several
 * rates. `path` is that of the digest. SH_NO_MEMORY.
 */
sh_status sh_learning_rates(sh_run_digest *digest, const char *path) SHOAL_CHECKED;

#endif
