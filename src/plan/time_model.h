/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts the time of a step on a device from measurements: the times of a program's instructions
 * and of other work, for lanes that take whole grains.
 *
 *     sh_program_time grain = sh_time_of_program(&known, program, graph, samples, NULL);
 *     sh_step_time step = sh_time_of_step(&known, &(sh_step_shape){
 *         .lanes = 4, .grains = 8, .grain_samples = 16, .grain = grain, .weights = weights, ...});
 *     printf("%.1f ms\n", 1e3 * step.seconds);
 *
 * An instruction's time is the first available of:
 *
 *     1. the measured time of the same work at the same size;
 *     2. interpolated from the two nearest sizes of the same work;
 *     3. the bound (4), scaled by how much the nearest works of the same operator exceed theirs;
 *     4. the longer of arithmetic and memory traffic at the device's peak rates.
 *
 * The bound is the roofline of Williams, Waterman, Patterson: "Roofline: an insightful visual
 * performance model for multicore architectures", 2009.
 *
 * Threads: any; pure. Times are seconds.
 */
#ifndef SHOAL_PLAN_TIME_MODEL_H
#define SHOAL_PLAN_TIME_MODEL_H

#include "plan/measurement.h"

/* The time of one execution on one lane while all lanes work; `one->seconds` is ignored. */
double sh_time_of(const sh_measurements *known, const sh_measurement *one);

typedef struct sh_program_time {
    double run;     /* per grain, with the exact sum */
    double prepare; /* per step */
} sh_program_time;

/* `program` is for `samples` samples of `graph`. `by_node` (optional) receives the time of each
 * node in a grain, with its reorders and additions. */
sh_program_time sh_time_of_program(const sh_measurements *known, const sh_program *program,
                                   const sh_graph *graph, uint32_t samples, double *by_node);

typedef struct sh_step_shape {
    uint32_t lanes;
    uint32_t grains;        /* of full size */
    uint32_t grain_samples; /* of a full one */
    uint32_t last_samples;  /* of a short grain at the end; 0: none */
    sh_program_time grain, last;
    double read_seconds;    /* per sample */
    size_t weights;         /* in all tensors */
    size_t optimizer_words; /* read and written by the update */
} sh_step_shape;

typedef struct sh_step_time {
    double seconds;
    double compute; /* grains and reading, on equally fast lanes */
    double prepare; /* preparing weights, clearing the sum */
    double optimizer;
    double other; /* the last lane's lag, and work outside the lanes */
} sh_step_time;

sh_step_time sh_time_of_step(const sh_measurements *known, const sh_step_shape *shape);

/* Floats that an update reads and writes with `slots` states per weight: weights and states twice,
 * the sum once. */
static inline size_t sh_optimizer_words(size_t weights, uint32_t slots)
{
    return weights * (3 + 2 * (size_t)slots);
}

#endif
