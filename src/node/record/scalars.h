/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training's events for TensorBoard: train/loss, train/accuracy and samples_per_second by step,
 * val/loss and val/accuracy after each epoch.
 *
 * Writes at most SH_SCALARS_RATE events per second, each with the means over all samples since the
 * epoch's previous event. Does nothing without a file, or after a failure, which it reports once.
 *
 *     SH_TRY(sh_tensorboard_open(&scalars.file, &(sh_tensorboard_options){.folder = folder, ...}));
 *     status = sh_scalars_step(&scalars, at, &report, samples_per_second);
 *     sh_tensorboard_close(scalars.file);
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_SCALARS_H
#define SHOAL_NODE_SCALARS_H

#include "shoal/train.h"
#include "store/tensorboard.h"
#include "train/progress_report.h"

#define SH_SCALARS_RATE 10

typedef struct sh_scalars {
    sh_tensorboard *file; /* NULL: none */
    uint32_t epoch;       /* of `seen`, from 0 */
    sh_epoch_totals seen; /* in earlier events */
    double at;            /* their time: seconds since 1970 */
} sh_scalars;

/* `at`: seconds since 1970. */
sh_status sh_scalars_step(sh_scalars *scalars, double at, const sh_progress_report *report,
                          double samples_per_second) SHOAL_CHECKED;
sh_status sh_scalars_epoch(sh_scalars *scalars, double at, const sh_event *epoch) SHOAL_CHECKED;

#endif
