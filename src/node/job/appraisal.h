/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's folder says at the end of what its weights are worth: what `shoal eval RUN` would
 * print, as metrics.json (node/record/assessment.h), and the samples with the largest losses as
 * worst.csv, some of them with pictures as worst.json.
 *
 *     const sh_appraisal asked = {.bench = bench, .measure = &measure, .run = run};
 *     SH_TRY(sh_appraisal_write(&metrics, &asked));
 *
 * Threads: the step's.
 */
#ifndef SHOAL_NODE_APPRAISAL_H
#define SHOAL_NODE_APPRAISAL_H

#include "node/job/measure.h"
#include "store/run.h"

#define SH_APPRAISAL_WORST 100 /* samples */

/* Everything is borrowed during the call. */
typedef struct sh_appraisal {
    sh_workbench *bench;  /* with no other devices; its trainer can only measure afterwards */
    sh_measure **measure; /* where the lanes look for the measure that gets their answers */
    const sh_run *run;
    double limit_s; /* most that it may take, as far as the steps so far show; 0: any time */
} sh_appraisal;

/* Fills the replica with the weights of a checkpoint, which are to be measured and handed over. */
sh_status sh_appraisal_hold(sh_replica *replica, const char *path) SHOAL_CHECKED;

/* `*metrics`: the JSON of metrics.json, owned. SH_LIMIT: it would take too long. On failure a file
 * of an earlier call may stay. */
sh_status sh_appraisal_write(char **metrics, const sh_appraisal *asked) SHOAL_CHECKED;

/* The figures in the folder are of other weights from now on. */
void sh_appraisal_forget(const sh_run *run);

#endif
