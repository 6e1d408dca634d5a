/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a training stands after a step, for those who show or record it.
 *
 * Threads: any; a value. What it borrows lives as long as the trainer.
 */
#ifndef SHOAL_TRAIN_PROGRESS_REPORT_H
#define SHOAL_TRAIN_PROGRESS_REPORT_H

#include "train/figures.h"
#include "train/replica.h"
#include "train/schedule.h"

typedef struct sh_progress_report {
    sh_batch batch;              /* the step that was applied */
    const sh_schedule *schedule; /* borrowed */
    uint64_t steps;              /* applied since the job began */
    sh_epoch_totals epoch;
    sh_scale scale;   /* of its figures and of those below */
    uint32_t devices; /* in the view */
    uint32_t view;
    sh_sum_totals totals;     /* of the step, or of the lap */
    uint32_t applied, redone; /* likewise: steps applied, and steps computed again */
} sh_progress_report;

#endif
