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

/* Bytes, without the trailer's few. An engine that gathers exchanges the factors of train/factors.h
 * in place of some sums. */
typedef struct sh_traffic {
    uint64_t summed;   /* added up */
    uint64_t gathered; /* factors of all devices together */
    uint64_t spared;   /* of the summed ones: not added up by an engine that gathers */
} sh_traffic;

sh_traffic sh_trainer_traffic(const sh_trainer *trainer);

#endif
