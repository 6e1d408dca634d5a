/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --lr-find: a training whose learning rate rises from 1e-7 to 10. The caller gets the loss of each
 * rate (SH_EVENT_STEP: lr, step_loss) and stops it.
 *
 *     SH_TRY(sh_lr_range_begin(options));
 *     sh_lr_range_measure(&event, options, report);   // after each step
 *
 * Both functions do nothing without `lr_find`.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_LR_RANGE_H
#define SHOAL_NODE_LR_RANGE_H

#include "shoal/train.h"
#include "train/progress_report.h"

/* Replaces the job's rate, schedule, warm-up and patience, and sets its steps to 100 by default.
 * Idempotent. SH_INVALID: --resume, or a strategy without common steps. */
sh_status sh_lr_range_begin(sh_train_options *options) SHOAL_CHECKED;

/* Sets the rate and loss of the reported step. */
void sh_lr_range_measure(sh_event *event, const sh_train_options *options,
                         const sh_progress_report *report);

#endif
