/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training loop on one device: stages, validation at the end of an epoch and of the job, an end
 * on request. Decisions depend only on what all devices of a view know, or are the agent's.
 *
 *     SH_TRY(sh_training_loop_run(&training_loop, &outcome));
 *
 * Threads: the step's thread; it calls observers.
 */
#ifndef SHOAL_NODE_TRAINING_LOOP_H
#define SHOAL_NODE_TRAINING_LOOP_H

#include "base/stop.h"
#include "node/member/agent.h"
#include "shoal/train.h"
#include "train/progress_report.h"
#include "train/session.h"

typedef enum sh_outcome {
    SH_OUTCOME_COMPLETE,
    SH_OUTCOME_STOPPED,   /* on request; all devices are at the same step */
    SH_OUTCOME_DISMISSED, /* the job may continue */
} sh_outcome;

typedef struct sh_training_loop {
    sh_session *session;
    sh_agent *agent;     /* gives tasks; NULL: the devices do not change */
    sh_engine *engine;   /* without an agent: sums over the devices */
    sh_range share;      /* likewise: its grains of a full step */
    const sh_stop *stop; /* asks all devices to end after the step; may be NULL */

    /* Required with an agent: reads the mail; with `wait`, waits for SH_MAIL_TASK. Sets *over if
     * the job is over. A failure ends the training loop. */
    sh_status (*on_idle)(void *context, bool wait, bool *over);

    /* The view to announce (sh_part.announce); optional, like all below. Called until the agent is
     * closed. */
    bool (*announce)(void *context, bool last, uint64_t *view);
    bool (*end_early)(void *context); /* sh_part.end_early; likewise */

    void (*on_view)(void *context, uint32_t view, uint32_t devices);

    /* Only on this device, so they may be slow. */
    sh_status (*on_step)(void *context, const sh_progress_report *report);
    sh_status (*on_validated)(void *context, const sh_progress_report *report,
                              const sh_sum_totals *validation);
    void *context;

    uint64_t redone_steps; /* out */
    uint32_t views;        /* out: the number of views with this device */
    bool whole;            /* out: the replica is complete */

    /* For the training loop; initially zero. */
    uint32_t view, devices;
    bool stopped;
    char not_finite[SH_MESSAGE_BYTES]; /* of the last stage that was not finite */
} sh_training_loop;

/* Runs until the job's end. Afterwards the replica belongs to the caller; if it is whole, it is in
 * the state after its last step, also after a failure. */
sh_status sh_training_loop_run(sh_training_loop *training_loop, sh_outcome *outcome) SHOAL_CHECKED;

#endif
