/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job holds in this device's memory, by kinds.
 *
 *     const sh_footprint *footprint = sh_lanes_footprint(lanes);
 *     printf("%llu bytes\n", (unsigned long long)sh_footprint_total(footprint));
 *
 * All but `base` and `thread` is exact: blocks whose sizes are known before the first step. The
 * base is what the process holds resident beside them once everything is compiled and bound:
 * program and libraries, generated kernels, open data; and what is known to come in the first
 * steps.
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
    uint64_t optimizer; /* its state */
    uint64_t sum;       /* of gradients */
    uint64_t prepared;  /* weights in other layouts: of all lanes together, or of each its own */
    uint64_t lane;      /* of one: inputs, activations, gradients, scratch */
    uint64_t own;       /* of one: what its worker holds (train/worker.h), or 0 */
    uint64_t thread;    /* of one: what its thread holds */
    uint64_t start; /* beside one lane's, before the first step (sh_trainer_first_grain), or 0 */
    uint32_t lanes;
    uint32_t lanes_asked;
    uint32_t segments; /* what is computed again: as sh_graph_recompute takes it */
    bool on_demand;    /* grains convert weights for themselves, nothing is prepared */
} sh_footprint;

/* Program, libraries and data: the base, and what the lanes' threads hold. */
uint64_t sh_footprint_program(const sh_footprint *footprint);

/* All of it, with as many lanes as it says. */
uint64_t sh_footprint_total(const sh_footprint *footprint);

/* What was chosen to stay below `limit` bytes, as a line for people. */
void sh_footprint_print(char text[SH_FOOTPRINT_TEXT], const sh_footprint *footprint,
                        uint64_t limit);

/*
 * SH_LIMIT: the least that is needed is above the limit. `grain` is that of the job, `fits` one
 * that would need `fits_bytes` at most and so fit, or 0 where none would.
 */
sh_status sh_footprint_refuse(const sh_footprint *least, uint64_t limit, uint32_t grain,
                              uint32_t fits, uint64_t fits_bytes) SHOAL_CHECKED;

#endif
