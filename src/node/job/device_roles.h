/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's choices about devices: which are servers, how many compute, and how many shares are
 * audited.
 *
 *     SH_TRY(sh_device_roles_choose(&roles, &options, &job));
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_JOB_DEVICE_ROLES_H
#define SHOAL_NODE_JOB_DEVICE_ROLES_H

#include "cluster/serving.h"
#include "cluster/standby.h"
#include "shoal/train.h"

typedef struct sh_device_roles {
    sh_serving serving;
    uint32_t used; /* see cluster/standby.h */
    double audit;  /* the part of the steps that is audited, 0 .. 1 */
} sh_device_roles;

/*
 * From the options and the job's strategy; all devices compute if they work independently.
 * SH_INVALID: the strategy has no servers, a list or number is malformed, or a device number is
 * impossible.
 */
sh_status sh_device_roles_choose(sh_device_roles *roles, const sh_train_options *options,
                                 const sh_job *job) SHOAL_CHECKED;

#endif
