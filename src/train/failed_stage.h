/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a failed stage on this device, for diagnosing the failure.
 *
 *     status = sh_trainer_step(trainer, &part, &result);
 *     const sh_failed_stage after = sh_trainer_failed_stage(trainer);
 *
 * Threads: as train/trainer.h.
 */
#ifndef SHOAL_TRAIN_FAILED_STAGE_H
#define SHOAL_TRAIN_FAILED_STAGE_H

#include "train/trainer.h"

typedef struct sh_failed_stage {
    uint64_t own_check;  /* this device's weight check in the trailer; 0: not computed yet */
    uint64_t total;      /* sum of all devices' checks; 0: the reduction did not complete */
    bool not_finite;     /* the stage failed because the sum is not finite */
    bool own_not_finite; /* this device's own part of the sum is not finite */
} sh_failed_stage;

sh_failed_stage sh_trainer_failed_stage(const sh_trainer *trainer);

#endif
