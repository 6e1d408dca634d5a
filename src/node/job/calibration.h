/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of an imported network's nodes for training samples.
 *
 *     const sh_calibration asked = {.session = session, .model = file, .samples = 256, .take = add,
 *                                   .context = &sums};
 *     SH_TRY(sh_calibrate(&asked));
 *
 * Evaluates the network on one lane. Samples are evenly spaced in the training split, as in its
 * first epoch, and in the same order on all devices.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_CALIBRATION_H
#define SHOAL_NODE_JOB_CALIBRATION_H

#include "train/session.h"

#define SH_CALIBRATION_SAMPLES SIZE_MAX /* the samples, instead of a node */

typedef struct sh_calibration {
    const sh_session *session; /* open, with the model's weights */
    const sh_onnx *model;
    const bool *chosen; /* by node: report its first result; NULL: all */
    uint32_t samples;   /* limit; whole groups of 16 if it is larger */

    /* The results of a group: a node's number, shape [N, ...] and elements. Its failure ends the
     * calibration. */
    sh_status (*take)(void *context, size_t node, const sh_shape *shape, const float *values);
    void *context;
} sh_calibration;

/* Omits results that do not depend on samples, and those that the answer does not depend on. */
sh_status sh_calibrate(const sh_calibration *asked) SHOAL_CHECKED;

#endif
