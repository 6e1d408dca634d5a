/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/lr_range.h"

#include <stdio.h>
#include <string.h>

#include "train/figures.h"
#include "train/rate.h"

#define SCHEDULE "range-test:1e8" /* from 1e-7 to MOST */
#define MOST 10.0f
#define STEPS 100

sh_status sh_lr_range_begin(sh_train_options *options)
{
    sh_job *job = &options->job;
    if (!options->lr_find)
        return SH_OK;
    if (options->resume != NULL)
        return sh_fail(
            SH_INVALID,
            "--lr-find with --resume: a range test starts with fresh weights; leave --resume out");
    if (strcmp(job->strategy, "sync") != 0 && strcmp(job->strategy, "ps-sync") != 0)
        return sh_fail(SH_INVALID, "--lr-find with --strategy %s: is for sync and ps-sync",
                       job->strategy);
    snprintf(job->schedule, sizeof job->schedule, "%s", SCHEDULE);
    job->lr = MOST;
    job->warmup = 0;
    job->patience = 0;
    if (job->steps == 0)
        job->steps = STEPS;
    return SH_OK;
}

void sh_lr_range_measure(sh_event *event, const sh_train_options *options,
                         const sh_progress_report *report)
{
    sh_rate rate;
    const sh_job *job = &options->job;
    const sh_sum_totals *totals = &report->totals;
    if (!options->lr_find || sh_rate_parse(&rate, job->schedule, (double)job->warmup) != SH_OK)
        return; /* impossible: the job was checked */
    event->lr = sh_rate_at(&rate, (double)job->lr, report->schedule, report->steps - 1);
    event->step_loss =
        sh_figures_of(&report->scale, totals->loss, totals->score, totals->samples).loss;
}
