/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --unfold: puts back the batch norms that an exporter has folded into convolutions.
 *
 *     SH_TRY(sh_unfold(bench, file, note));
 *
 * Mean and variance of a batch norm become those of what its convolution makes of training samples,
 * its weight and bias undo that, so the network computes what it did before, but for rounding.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_UNFOLD_H
#define SHOAL_NODE_JOB_UNFOLD_H

#include "train/workbench.h"

#define SH_UNFOLD_SAMPLES                                                                          \
    256 /* at most; evenly spaced in the training split, in its first epoch                        \
         */

/*
 * The bench's network, replica and job become those of the network with batch norms. `bench` is
 * open, with the weights of `file`. SH_INVALID where the network has no such convolutions.
 * `*restored` is how many were put back.
 */
sh_status sh_unfold(sh_workbench *bench, const sh_onnx *file, size_t *restored) SHOAL_CHECKED;

#endif
