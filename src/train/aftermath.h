/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device knows about a stage that failed, for the diagnosis.
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
    uint64_t said;   /* this device's check of its weights; 0: none yet */
    uint64_t total;  /* of all checks, as it was read last */
    bool not_finite; /* the stage failed because the sum is not finite */
    bool by_this;    /* this device's own part is not finite */
} sh_aftermath;

sh_aftermath sh_trainer_aftermath(const sh_trainer *trainer);

#endif
