/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device knows of a stage that did not come through, for those who have to find out why.
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
    uint64_t said;   /* its own trailer's check of the weights; 0 before it has one */
    uint64_t total;  /* of all checks, as it was read last */
    bool not_finite; /* the stage failed because the sum has numbers that are not finite */
    bool by_this;    /* what this device holds has such numbers */
} sh_aftermath;

sh_aftermath sh_trainer_aftermath(const sh_trainer *trainer);

#endif
