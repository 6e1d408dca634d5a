/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model says of samples, without losses that are added up, targets that matter or a job's
 * stages: for prediction.
 *
 *     SH_TRY(sh_forward_new(&forward, &options));
 *     SH_TRY(sh_forward_run(forward, 20));          // samples 0 .. 19 of the validation split
 *     sh_forward_free(forward);
 *
 * What it says of a sample does not depend on the others, nor on the number of lanes, to the bit.
 *
 * Threads: one caller, which is lane 0.
 */
#ifndef SHOAL_TRAIN_FORWARD_H
#define SHOAL_TRAIN_FORWARD_H

#include "train/workbench.h"

#define SH_FORWARD_GROUP 16 /* samples that a lane computes together, at most */

typedef struct sh_forward sh_forward;

/* Compiles for `lanes` (0: all cores) below `memory` bytes (0: any number), as sh_workbench_start
 * does for training. The bench is open and not started, and borrowed until sh_forward_free;
 * its on_answers gets what is computed. `*forward` is owned. */
sh_status sh_forward_new(sh_forward **forward, const sh_workbench *bench, uint32_t lanes,
                         uint64_t memory) SHOAL_CHECKED;
void sh_forward_free(sh_forward *forward); /* NULL is fine */

/* Computes the first `count` validation samples. The failure of reading one ends it. */
sh_status sh_forward_run(sh_forward *forward, uint32_t count) SHOAL_CHECKED;

#endif
