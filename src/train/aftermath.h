/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a failed stage on this device, for diagnosing the failure.
 *
 *     status = sh_trainer_step(trainer, &part, &result);
 *     const sh_aftermath after = sh_trainer_aftermath(trainer);
 *
 * Threads: as train/trainer.h.
 */
#ifndef SHOAL_TRAIN_AFTERMATH_H
#define SHOAL_TRAIN_AFTERMATH_H

#include "train/trainer.h"

typedef struct sh_aftermath {
    uint64_t said;   /* this device's weight check in the trailer; 0: not computed yet */
    uint64_t total;  /* the sum of all devices' checks; 0: the reduction did not complete */
    bool not_finite; /* the stage failed because the sum is not finite */
    bool by_this;    /* this device's own part of the sum is not finite */
} sh_aftermath;

sh_aftermath sh_trainer_aftermath(const sh_trainer *trainer);

#endif
