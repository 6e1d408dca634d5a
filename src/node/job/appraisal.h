/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates a run's weights at its end and writes to its folder: the results of `shoal eval RUN` as
 * metrics.json (node/record/assessment.h), and the samples with the largest losses as worst.csv,
 * some with pictures as worst.json.
 *
 *     const sh_appraisal asked = {.bench = bench, .measure = &measure, .run = run};
 *     SH_TRY(sh_appraisal_write(&metrics, &asked));
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_APPRAISAL_H
#define SHOAL_NODE_APPRAISAL_H

#include "node/job/measure.h"
#include "store/run.h"

#define SH_APPRAISAL_WORST 100 /* samples */

/* All pointers are borrowed for the call. */
typedef struct sh_appraisal {
    sh_workbench *bench;  /* without other devices; afterwards its trainer can only measure */
    sh_measure **measure; /* receives the lanes' answers */
    const sh_run *run;
    double limit_s; /* time limit, predicted from earlier steps; 0: none */
} sh_appraisal;

/* Loads the weights of a checkpoint into the replica, to be measured and exported. */
sh_status sh_appraisal_hold(sh_replica *replica, const char *path) SHOAL_CHECKED;

/* `*metrics`: the JSON of metrics.json, owned. SH_LIMIT: it would take too long. After a failure, a
 * file of an earlier call may remain. */
sh_status sh_appraisal_write(char **metrics, const sh_appraisal *asked) SHOAL_CHECKED;

/* Deletes the files, because the weights change. */
void sh_appraisal_forget(const sh_run *run);

#endif
