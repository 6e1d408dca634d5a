/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --unfold: restores batch norms that an exporter folded into convolutions.
 *
 * A batch norm's mean and variance become those of its convolution's results for training samples;
 * its weight and bias cancel them, so the network computes the same except for rounding.
 *
 *     SH_TRY(sh_unfold(session, file, note));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_UNFOLD_H
#define SHOAL_NODE_JOB_UNFOLD_H

#include "train/session.h"

#define SH_UNFOLD_SAMPLES                                                                          \
    256 /* at most; evenly spaced in the training split, as in its first epoch */

/* Changes the session's network, replica and job. `session` is open with the weights of `file`.
 * SH_INVALID: no such convolutions. `*restored`: the number of batch norms. */
sh_status sh_unfold(sh_session *session, const sh_onnx *file, size_t *restored) SHOAL_CHECKED;

#endif
