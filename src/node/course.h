/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a training, the same on every device: step after step, validation at the end of an
 * epoch and of the job, an end where somebody asked for it. All decisions rest on what all devices
 * know, so all make the same calls in the same order.
 *
 *     SH_TRY(sh_course_run(&course, &ending));
 *
 * Threads: the step's; observers are called on it.
 */
#ifndef SHOAL_NODE_COURSE_H
#define SHOAL_NODE_COURSE_H

#include "node/stop.h"
#include "node/workbench.h"
#include "shoal/train.h"

typedef enum sh_ending {
    SH_ENDING_COMPLETE,
    SH_ENDING_STOPPED, /* a device asked for it; all are at the same step */
} sh_ending;

/* How things stand after a step. */
typedef struct sh_progress_report {
    sh_batch batch; /* the step that was applied */
    const sh_schedule *schedule;
    uint64_t steps; /* applied since the job began */
    sh_epoch_totals epoch;
} sh_progress_report;

typedef struct sh_course {
    sh_workbench *bench;
    sh_part part; /* share and engine; `stop` is set by the course */
    const sh_stop *stop;

    /* Optional. A step was applied; after a validation; both on this device only, so they may be
     * slow. */
    void (*on_step)(void *context, const sh_progress_report *report);
    sh_status (*on_validated)(void *context, const sh_progress_report *report,
                              const sh_sum_totals *validation);
    void *context;

    uint64_t redone_steps; /* out: counted since the start of the course */
} sh_course;

/* Runs from where the replica stands to the job's end. On failure the replica is as after its last
 * step. */
sh_status sh_course_run(sh_course *course, sh_ending *ending) SHOAL_CHECKED;

#endif
