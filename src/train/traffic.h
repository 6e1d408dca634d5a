/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the devices of a job exchange in a full step, before an engine decides who sends what.
 *
 *     const sh_traffic traffic = sh_trainer_traffic(trainer);
 *
 * Threads: as train/trainer.h; pure.
 */
#ifndef SHOAL_TRAIN_TRAFFIC_H
#define SHOAL_TRAIN_TRAFFIC_H

#include "train/trainer.h"

/* Bytes, the trailer's few left out. */
typedef struct sh_traffic {
    uint64_t summed; /* that are added up */
    uint64_t
        gathered; /* factors of all devices together (train/factors.h), where an engine gathers */
    uint64_t spared; /* of the summed ones, that are not added up then */
} sh_traffic;

sh_traffic sh_trainer_traffic(const sh_trainer *trainer);

#endif
