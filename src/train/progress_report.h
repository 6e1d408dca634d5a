/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a training after a step, for display and logs.
 *
 * Threads: any; a value. Borrowed members live as long as the trainer.
 */
#ifndef SHOAL_TRAIN_PROGRESS_REPORT_H
#define SHOAL_TRAIN_PROGRESS_REPORT_H

#include "train/figures.h"
#include "train/replica.h"
#include "train/schedule.h"

typedef struct sh_progress_report {
    sh_batch batch;              /* of the applied step */
    const sh_schedule *schedule; /* borrowed */
    uint64_t steps;              /* applied since the job's start */
    sh_epoch_totals epoch;
    sh_scale scale;   /* for the figures of `epoch` and `totals` */
    uint32_t devices; /* in the view */
    uint32_t view;
    sh_sum_totals totals;     /* of the step, or of the lap */
    uint32_t applied, redone; /* in the step or lap: steps applied, and steps computed again */
} sh_progress_report;

#endif
