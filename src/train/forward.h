/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prediction: a model's answers for samples, without the job's stages, and without summed losses or
 * meaningful targets.
 *
 * An answer depends neither on other samples nor on the number of lanes, to the bit.
 *
 *     SH_TRY(sh_forward_new(&forward, &session, lanes, memory));
 *     SH_TRY(sh_forward_run(forward, 20));          // samples 0 .. 19 of the validation split
 *     sh_forward_free(forward);
 *
 * Threads: one caller, which is lane 0.
 */
#ifndef SHOAL_TRAIN_FORWARD_H
#define SHOAL_TRAIN_FORWARD_H

#include "train/session.h"

#define SH_FORWARD_GROUP 16 /* most samples that a lane computes together */

typedef struct sh_forward sh_forward;

/* Compiles for `lanes` lanes (0: all cores) within `memory` bytes (0: unlimited), as
 * sh_session_start. The session must be open and not started. It is borrowed until sh_forward_free,
 * and its on_answers receives the results. `*forward` is owned. */
sh_status sh_forward_new(sh_forward **forward, const sh_session *session, uint32_t lanes,
                         uint64_t memory) SHOAL_CHECKED;
void sh_forward_free(sh_forward *forward);

/* Computes the first `count` validation samples. Fails if a sample cannot be read. */
sh_status sh_forward_run(sh_forward *forward, uint32_t count) SHOAL_CHECKED;

#endif
