/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user wants of the job's devices beside computing a share: which of them serve, and how
 * many compute at all.
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
    uint32_t used; /* devices that compute, as cluster/standby.h has it */
} sh_duties;

/*
 * By options->servers, options->devices_used and the job's strategy: all devices compute where each
 * does by itself. SH_INVALID: the strategy has no servers, a list or number is malformed, or names
 * a device that there can never be.
 */
sh_status sh_duties_choose(sh_duties *duties, const sh_train_options *options,
                           const sh_job *job) SHOAL_CHECKED;

#endif
