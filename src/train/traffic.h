/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that the devices of a job exchange in a full step, independently of how an engine sends
 * them.
 *
 *     const sh_traffic traffic = sh_trainer_traffic(trainer);
 *
 * Threads: as train/trainer.h; pure.
 */
#ifndef SHOAL_TRAIN_TRAFFIC_H
#define SHOAL_TRAIN_TRAFFIC_H

#include "train/trainer.h"

/* In bytes, without the trailer. Engines with the operation `gathered` exchange factors
 * (train/factors.h) instead of some sums. */
typedef struct sh_traffic {
    uint64_t summed;   /* of gradients */
    uint64_t gathered; /* factors of all devices */
    uint64_t spared;   /* the part of `summed` that factors replace */
} sh_traffic;

sh_traffic sh_trainer_traffic(const sh_trainer *trainer);

#endif
