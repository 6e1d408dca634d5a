/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the nodes of an imported network make of training samples.
 *
 *     const sh_calibration asked = {.bench = bench, .model = file, .samples = 256, .take = add,
 *                                   .context = &sums};
 *     SH_TRY(sh_calibrate(&asked));
 *
 * The network is computed in evaluation, by one lane. The samples are evenly spaced in the training
 * split, in its first epoch; they come in groups, in the same order everywhere.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_CALIBRATION_H
#define SHOAL_NODE_JOB_CALIBRATION_H

#include "train/workbench.h"

#define SH_CALIBRATION_SAMPLES SIZE_MAX /* the samples, in the place of a node */

typedef struct sh_calibration {
    const sh_workbench *bench; /* open, with the weights of the model */
    const sh_onnx *model;      /* the network */
    const bool *chosen;        /* by node: its first result is wanted; NULL: all */
    uint32_t samples;          /* at most; whole groups of 16 are computed where they are more */

    /* Is given the results of a group: a node's number, shape [N, ...] and elements. Its failure
     * ends the calibration. */
    sh_status (*take)(void *context, size_t node, const sh_shape *shape, const float *values);
    void *context;
} sh_calibration;

/* Results that are known without samples, or that the answer does not depend on, are left out. */
sh_status sh_calibrate(const sh_calibration *asked) SHOAL_CHECKED;

#endif
