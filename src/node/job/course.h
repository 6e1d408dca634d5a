/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a training on one device: stage after stage, validation at the end of an epoch and
 * of the job, an end on request. It decides by what all devices of a view know, or the agent
 * does.
 *
 *     SH_TRY(sh_course_run(&course, &ending));
 *
 * Threads: the step's; observers are called on it.
 */
#ifndef SHOAL_NODE_COURSE_H
#define SHOAL_NODE_COURSE_H

#include "base/stop.h"
#include "node/member/agent.h"
#include "shoal/train.h"
#include "train/progress_report.h"
#include "train/workbench.h"

typedef enum sh_ending {
    SH_ENDING_COMPLETE,
    SH_ENDING_STOPPED,   /* asked for; all are at the same step */
    SH_ENDING_DISMISSED, /* this device's part is over, the job may go on */
} sh_ending;

typedef struct sh_course {
    sh_workbench *bench;
    sh_agent *agent;     /* says what to do; NULL: the devices stay as they are */
    sh_engine *engine;   /* without an agent: adds up over these devices */
    sh_range share;      /* likewise: the grains of a full step that this one computes */
    const sh_stop *stop; /* asks all devices to end after the step; NULL: never */

    /* Required with an agent: reads the mail that arrived; with `wait` there is nothing to do
     * until SH_MAIL_TASK comes. *over where the job is. A failure ends the course. */
    sh_status (*on_idle)(void *context, bool wait, bool *over);

    /* The view that this device is to announce (sh_part.announce); optional, as all below. Asked
     * until the agent is closed. */
    bool (*announce)(void *context, bool last, uint64_t *view);
    bool (*hurry)(void *context); /* likewise sh_part.hurry */

    /* This device enters a view, the first one or another. */
    void (*on_view)(void *context, uint32_t view, uint32_t devices);

    /* A step was applied; after a validation; both on this device only, so they may be slow. */
    sh_status (*on_step)(void *context, const sh_progress_report *report);
    sh_status (*on_validated)(void *context, const sh_progress_report *report,
                              const sh_sum_totals *validation);
    void *context;

    uint64_t redone_steps; /* out: counted since the start of the course */
    uint32_t views;        /* out: that this device was in */
    bool whole;            /* out: the replica; false where it was being brought along */

    /* The course's own: zero. */
    uint32_t view, devices;
    bool stopped;
    char not_finite[SH_MESSAGE_BYTES]; /* what was not, in the last stage that failed by that */
} sh_course;

/* Runs from where the replica stands to the job's end. Afterwards the replica is the caller's; if
 * it is whole, it is as after its last step, also after a failure. */
sh_status sh_course_run(sh_course *course, sh_ending *ending) SHOAL_CHECKED;

#endif
