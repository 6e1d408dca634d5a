/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sums over samples say of a model, in the terms of its data.
 *
 *     const sh_scale scale = sh_scale_of(pipeline);
 *     const sh_figures figures = sh_figures_of(&scale, totals.loss, totals.score, totals.samples);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_FIGURES_H
#define SHOAL_TRAIN_FIGURES_H

#include "data/pipeline.h"

/* How a score becomes a figure. */
typedef struct sh_scale {
    sh_target target;
    uint32_t outputs;
    double unit; /* of errors: of the one number that is predicted, its own; of several, and of
                    samples, that in which the network is given them */
} sh_scale;

typedef struct sh_figures {
    double loss;     /* mean over the samples; 0 without samples */
    double accuracy; /* 0 .. 1 of classes and labels; NaN of numbers and samples */
    double mae;      /* mean absolute error of numbers and samples; NaN of classes and labels */
} sh_figures;

sh_scale sh_scale_of(const sh_pipeline *pipeline);

sh_figures sh_figures_of(const sh_scale *scale, double loss, uint64_t score, uint64_t samples);

#endif
