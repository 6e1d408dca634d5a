/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/device_roles.h"

#include <string.h>

#include "train/strategy.h"

/* Devices are numbered from 0 in order of joining; without a door, all are local. */
static sh_status choose_servers(sh_serving *serving, const sh_train_options *options,
                                const sh_job *job, const sh_strategy *strategy)
{
    const uint32_t devices = options->devices > 0 ? options->devices : 1;
    *serving = (sh_serving){.on = strategy->row->servers};
    if (options->servers == NULL)
        return SH_OK;
    if (!serving->on) {
        char others[SH_STRATEGY_LIST];
        sh_strategy_list(others, true, " and ");
        return sh_fail(SH_INVALID, "--servers %.64s: --strategy %s has no servers; %s have",
                       options->servers, job->strategy, others);
    }
    SH_TRY(sh_serving_parse(serving, options->servers));
    for (uint32_t i = 0; i < serving->count && options->listen == NULL; i++)
        if (serving->devices[i] >= devices)
            return sh_fail(SH_INVALID,
                           "--servers %.64s: there is no device %u: those started here (--devices) "
                           "are 0 to %u, and without --listen no others can join",
                           options->servers, serving->devices[i], devices - 1);
    return SH_OK;
}

static sh_status choose_used(uint32_t *used, const sh_train_options *options, const sh_job *job,
                             const sh_strategy *strategy)
{
    *used = SH_STANDBY_AUTO;
    if (options->devices_used != NULL)
        SH_TRY(sh_standby_parse(used, options->devices_used));
    if (!strategy->row->apart)
        return SH_OK;
    if (*used != SH_STANDBY_ALL && *used != SH_STANDBY_AUTO)
        return sh_fail(SH_INVALID,
                       "--devices-used %.32s: with --strategy %s each device computes by itself "
                       "and delays no other: leave it out",
                       options->devices_used, job->strategy);
    *used = SH_STANDBY_ALL;
    return SH_OK;
}

/* With other strategies, devices compute with weights that nobody else has. */
static sh_status choose_audit(double *part, const sh_train_options *options, const sh_job *job,
                              const sh_strategy *strategy)
{
    *part = (double)options->audit / 100;
    if (options->audit <= 0 || strcmp(strategy->row->course, "sync") == 0)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "--audit %g: with --strategy %s devices compute with weights that others do not "
                   "have; leave --audit out, or use --strategy sync",
                   (double)options->audit, job->strategy);
}

sh_status sh_device_roles_choose(sh_device_roles *roles, const sh_train_options *options,
                                 const sh_job *job)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, job->strategy));
    SH_TRY(choose_servers(&roles->serving, options, job, &strategy));
    SH_TRY(choose_audit(&roles->audit, options, job, &strategy));
    return choose_used(&roles->used, options, job, &strategy);
}

/* When resuming, the strategy may be the checkpoint's, which is checked later. */
sh_status sh_train_options_check(const sh_train_options *options)
{
    sh_device_roles roles;
    if (options->devices_used != NULL)
        SH_TRY(sh_standby_parse(&roles.used, options->devices_used));
    return options->resume != NULL ? SH_OK : sh_device_roles_choose(&roles, options, &options->job);
}
