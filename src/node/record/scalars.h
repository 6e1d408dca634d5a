/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a training says to TensorBoard: train/loss, train/accuracy and samples_per_second against
 * steps, val/loss and val/accuracy behind epochs.
 *
 *     SH_TRY(sh_tensorboard_open(&scalars.file, &(sh_tensorboard_options){.folder = folder, ...}));
 *     status = sh_scalars_step(&scalars, at, &report, samples_per_second);
 *     sh_tensorboard_close(scalars.file);
 *
 * There are at most SH_SCALARS_RATE events a second; loss and accuracy of one are the means over
 * all samples since the one before it in the epoch. Without a file, and after a failure, which is
 * told once, nothing is done.
 *
 * Threads: the step's.
 */
#ifndef SHOAL_NODE_SCALARS_H
#define SHOAL_NODE_SCALARS_H

#include "shoal/train.h"
#include "store/tensorboard.h"
#include "train/progress_report.h"

#define SH_SCALARS_RATE 10

typedef struct sh_scalars {
    sh_tensorboard *file; /* NULL: none */
    uint32_t epoch;       /* of the samples seen, from 0 */
    sh_epoch_totals seen; /* samples that were told of, or were before */
    double at;            /* when */
} sh_scalars;

/* `at` is the date, in seconds since 1970. */
sh_status sh_scalars_step(sh_scalars *scalars, double at, const sh_progress_report *report,
                          double samples_per_second) SHOAL_CHECKED;
sh_status sh_scalars_epoch(sh_scalars *scalars, double at, const sh_event *epoch) SHOAL_CHECKED;

#endif
