/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a job takes on this device, by kind.
 *
 * Members except `base` and `thread` are exact: sizes of blocks, known before the first step.
 * `base` is what else the process holds resident once everything is compiled and bound (program and
 * libraries, generated kernels, open data), and an allowance for the first steps.
 *
 *     const sh_footprint *footprint = sh_lanes_footprint(lanes);
 *     printf("%llu bytes\n", (unsigned long long)sh_footprint_total(footprint));
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_TRAIN_FOOTPRINT_H
#define SHOAL_TRAIN_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_FOOTPRINT_TEXT 512

typedef struct sh_footprint {
    uint64_t base;
    uint64_t weights;
    uint64_t optimizer;
    uint64_t sum;
    uint64_t prepared; /* weights in other layouts: one copy, or one per lane */
    uint64_t lane;     /* per lane: inputs, activations, gradients, scratch */
    uint64_t own;      /* per lane: its worker's state (train/worker.h), or 0 */
    uint64_t thread;   /* per lane: of its thread */
    uint64_t start;    /* before the first step, besides one lane's memory
                          (sh_trainer_first_grain), or 0 */
    uint32_t lanes;
    uint32_t lanes_asked;
    uint32_t segments; /* as for sh_graph_recompute */
    bool on_demand;    /* grains convert weights; nothing is prepared */
} sh_footprint;

/* `base` and the memory of the lanes' threads. */
uint64_t sh_footprint_program(const sh_footprint *footprint);

uint64_t sh_footprint_total(const sh_footprint *footprint);

/* Writes one line for users: what was chosen to stay below `limit` bytes. */
void sh_footprint_print(char text[SH_FOOTPRINT_TEXT], const sh_footprint *footprint,
                        uint64_t limit);

/*
 * Returns SH_LIMIT: the smallest footprint, `least`, is above the limit. `grain` is the job's;
 * `fits` is a smaller one that would fit with at most `fits_bytes`, or 0.
 */
sh_status sh_footprint_refuse(const sh_footprint *least, uint64_t limit, uint32_t grain,
                              uint32_t fits, uint64_t fits_bytes) SHOAL_CHECKED;

#endif
