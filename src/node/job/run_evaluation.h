/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates a run's weights at its end and writes to its folder: the results of `shoal eval RUN` as
 * metrics.json (node/record/assessment.h), and the samples with the largest losses as worst.csv,
 * some with pictures as worst.json.
 *
 *     const sh_run_evaluation asked = {.session = session, .measure = &measure, .run = run};
 *     SH_TRY(sh_run_evaluation_write(&metrics, &asked));
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_RUN_EVALUATION_H
#define SHOAL_NODE_RUN_EVALUATION_H

#include "node/job/measure.h"
#include "store/run.h"

#define SH_RUN_EVALUATION_WORST 100

/* Borrowed for the call. */
typedef struct sh_run_evaluation {
    sh_session *session;  /* without other devices; afterwards its trainer can only measure */
    sh_measure **measure; /* receives the lanes' answers */
    const sh_run *run;
    double limit_s; /* limit for the predicted time; 0: none */
} sh_run_evaluation;

sh_status sh_run_evaluation_load(sh_replica *replica, const char *path) SHOAL_CHECKED;

/* `*metrics`: the JSON of metrics.json, owned. SH_LIMIT: it would take too long. After a failure, a
 * file of an earlier call may remain. */
sh_status sh_run_evaluation_write(char **metrics, const sh_run_evaluation *asked) SHOAL_CHECKED;

/* Deletes the files. */
void sh_run_evaluation_forget(const sh_run *run);

#endif
