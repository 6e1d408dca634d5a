/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts sums over samples to figures in the units of the data.
 *
 *     const sh_scale scale = sh_scale_of(pipeline);
 *     const sh_figures figures = sh_figures_of(&scale, totals.loss, totals.score, totals.samples);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_FIGURES_H
#define SHOAL_TRAIN_FIGURES_H

#include "data/pipeline.h"

typedef struct sh_scale {
    sh_target target;
    uint32_t outputs;
    double unit; /* of errors. A single predicted number: its own unit. Several numbers, or samples:
                    the unit of the network's inputs and targets */
} sh_scale;

typedef struct sh_figures {
    double loss;     /* mean; 0 without samples */
    double accuracy; /* classes and labels: 0 .. 1; otherwise NaN */
    double mae;      /* numbers and samples: mean absolute error; otherwise NaN */
} sh_figures;

sh_scale sh_scale_of(const sh_pipeline *pipeline);

sh_figures sh_figures_of(const sh_scale *scale, double loss, uint64_t score, uint64_t samples);

#endif
