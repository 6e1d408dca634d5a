/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's choice of devices: which are servers, and how many compute.
 *
 *     SH_TRY(sh_duties_choose(&duties, &options, &job));
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_JOB_DUTIES_H
#define SHOAL_NODE_JOB_DUTIES_H

#include "cluster/serving.h"
#include "cluster/standby.h"
#include "shoal/train.h"

typedef struct sh_duties {
    sh_serving serving;
    uint32_t used; /* devices that compute (cluster/standby.h) */
} sh_duties;

/*
 * From options->servers, options->devices_used and the job's strategy; all devices compute if they
 * work independently. SH_INVALID: the strategy has no servers, a list or number is malformed, or a
 * device number is impossible.
 */
sh_status sh_duties_choose(sh_duties *duties, const sh_train_options *options,
                           const sh_job *job) SHOAL_CHECKED;

#endif
