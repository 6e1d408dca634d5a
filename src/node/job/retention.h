/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of a run that are kept: the best one and those of the newest epochs.
 *
 *     sh_retention_open(&retention, sh_run_checkpoints(run), 3);
 *     SH_TRY(sh_snapshot_save(retention.folder, ...));     // after a validation
 *     SH_TRY(sh_retention_validated(&retention, &now, steps));  // keeps it if it is the best
 *     SH_TRY(sh_retention_epoch(&retention, 7));                // and keeps it for three epochs
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_RETENTION_H
#define SHOAL_NODE_RETENTION_H

#include "train/best.h"

typedef struct sh_retention {
    const char *folder;  /* borrowed */
    uint32_t most;       /* newest epochs to keep */
    uint64_t best_steps; /* of the best one kept; 0: none */
} sh_retention;

/* The folder may be missing. `most` is --keep. */
void sh_retention_open(sh_retention *retention, const char *folder, uint32_t most);

/* Whether the last checkpoint, at `steps`, is the best and not yet kept. */
bool sh_retention_lacks(const sh_retention *retention, const sh_best *now, uint64_t steps);

/* The last checkpoint, at `steps`, follows a validation: keeps it if it is the best. `now` is
 * sh_best_now. */
sh_status sh_retention_validated(sh_retention *retention, const sh_best *now,
                                 uint64_t steps) SHOAL_CHECKED;

/* Keeps the last checkpoint, which is that of an epoch, from 1. */
sh_status sh_retention_epoch(const sh_retention *retention, uint32_t epoch) SHOAL_CHECKED;

#endif
