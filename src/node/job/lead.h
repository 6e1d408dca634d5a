/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two parts that a device can have in a job, and how it changes from one to the other: to lead
 * it, as `shoal train` does from the start, and to follow, as `shoal join` does. A device that
 * follows goes on as the coordinator where that is lost; one that leads follows another one that is
 * ahead of it.
 *
 *     status = sh_lead(&summary, &moved, &options);     // node/job/train.c
 *     if (moved.port != 0)
 *         status = sh_follow(&result, &options, &moved); // node/job/join.c
 *
 * Threads: the step's.
 */
#ifndef SHOAL_NODE_JOB_LEAD_H
#define SHOAL_NODE_JOB_LEAD_H

#include "node/member/legacy.h"
#include "shoal/join.h"
#include "train/workbench.h"

/* All pointers are borrowed for the call. */
typedef struct sh_lead_options {
    const sh_legacy *legacy;
    sh_workbench *bench;           /* started; its replica is whole */
    const char *name;              /* of this device */
    const sh_join_options *device; /* its own settings: run, lanes, memory, stop, observer */
    /* The job is complete, and the bench has the last weights. Its failure is the call's. */
    sh_status (*at_end)(void *context);
    void *context;
} sh_lead_options;

/*
 * Goes on with a job in the place of its coordinator, in a run's folder of this device's own, to
 * its end. *moved has a port if another device goes on in this one's place: then the status is
 * SH_ABORTED, the bench is as after the last step here, and *whole says whether its replica can be
 * gone on with. Else as sh_train.
 */
sh_status sh_lead(sh_summary *summary, sh_door *moved, bool *whole,
                  const sh_lead_options *options) SHOAL_CHECKED;

typedef struct sh_follow_options {
    const sh_join_options *device; /* its token may be NULL: `token` is the one */
    const char *name;
    const sh_token *token;
    sh_workbench *bench; /* as after the last step here; owned by the call from now on */
    bool whole;          /* its replica */
    sh_door door;        /* of the device that leads */
} sh_follow_options;

/* Goes on as a device of a job that this one has led. Else as sh_join. */
sh_status sh_follow(sh_join_result *result, const sh_follow_options *options) SHOAL_CHECKED;

#endif
