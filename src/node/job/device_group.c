/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/device_group.h"

#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "shoal/launch.h"

/* ---- alone: no thread, socket or token ------------------------------------------------------- */

static sh_status open_alone(sh_device_group *group)
{
    group->engine = sh_engine_solo();
    return SH_OK;
}

static const sh_device_group_ops alone = {
    .purpose = "a training",
    .bytes = sizeof(sh_device_group),
    .open = open_alone,
};

static const sh_device_group_ops *find(const sh_train_options *options)
{
    const sh_device_group_ops *all[] = {&sh_device_group_ranks, &sh_device_group_crew};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->fits(options))
            return all[i];
    return &alone;
}

/* ---- the options ----------------------------------------------------------------------------- */

sh_status sh_device_group_check(const sh_train_options *options)
{
    const sh_device_group_ops *ops = find(options);
    sh_launch launch;
    if (ops->check != NULL)
        return ops->check(options);
    if (options->engine != NULL && strcmp(options->engine, "ring") != 0)
        return sh_fail(SH_INVALID, "--engine %.160s: must be ring or mpi", options->engine);
    if (!sh_launch_read(&launch) || launch.ranks == 1)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "%s has started %u of these, and each would train alone: give --engine mpi, or "
                   "start one without %s",
                   launch.launcher, launch.ranks, launch.launcher);
}

uint32_t sh_device_group_devices(const sh_train_options *options)
{
    const sh_device_group_ops *ops = find(options);
    return ops->devices == NULL ? 1 : ops->devices(options);
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_status sh_device_group_open(sh_device_group **group, const sh_train_options *options)
{
    const sh_device_group_ops *ops = find(options);
    sh_device_group *fresh = calloc(1, ops->bytes);
    if (fresh == NULL)
        return sh_fail_memory(ops->bytes, ops->purpose);
    fresh->ops = ops;
    fresh->options = options;
    fresh->devices = sh_device_group_devices(options);
    fresh->here = 1;
    sh_host_name(fresh->name);
    const sh_status status = ops->open(fresh);
    if (status == SH_OK)
        *group = fresh;
    else
        sh_device_group_close(fresh, true);
    return status;
}

sh_status sh_device_group_agree(sh_device_group *group, sh_status status)
{
    return group->ops->agree == NULL ? status : group->ops->agree(group, status);
}

sh_status sh_device_group_compare(sh_device_group *group)
{
    return group->ops->compare == NULL ? SH_OK : group->ops->compare(group);
}

sh_status sh_device_group_assemble(sh_device_group *group)
{
    return group->ops->assemble == NULL ? SH_OK : group->ops->assemble(group);
}

sh_range sh_device_group_share(const sh_device_group *group)
{
    const uint32_t grains = sh_job_grains(&group->session->job);
    const uint64_t devices = group->engine->devices;
    const uint32_t first = (uint32_t)(grains * (uint64_t)group->rank / devices);
    const uint32_t end = (uint32_t)(grains * (group->rank + (uint64_t)1) / devices);
    return (sh_range){first, end - first};
}

void sh_device_group_enter(sh_device_group *group, uint32_t view, uint64_t step)
{
    if (group->ops->enter != NULL)
        group->ops->enter(group, view, step);
    else
        sh_run_journal_view(group->journal, view, step,
                            &(sh_seat){.share = sh_device_group_share(group)}, 1);
}

sh_status sh_device_group_run(sh_device_group *group, sh_training_loop *training_loop,
                              sh_outcome *outcome)
{
    return group->ops->run == NULL ? sh_training_loop_run(training_loop, outcome)
                                   : group->ops->run(group, training_loop, outcome);
}

sh_status sh_device_group_reports(sh_device_group *group, const sh_device_report *own,
                                  sh_device_report **reports, size_t *count)
{
    if (group->ops->reports != NULL)
        return group->ops->reports(group, own, reports, count);
    return sh_device_group_report_own(own, reports, count);
}

sh_status sh_device_group_report_own(const sh_device_report *own, sh_device_report **reports,
                                     size_t *count)
{
    sh_device_report *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the summary");
    *fresh = *own;
    *reports = fresh;
    *count = 1;
    return SH_OK;
}

void sh_device_group_fail(sh_device_group *group, const char *reason)
{
    if (group->ops->fail != NULL)
        group->ops->fail(group, reason);
}

sh_status sh_device_group_dismiss(sh_device_group *group, sh_status status, const char *message)
{
    if (group->ops->dismiss != NULL)
        return group->ops->dismiss(group, status, message);
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

void sh_device_group_close(sh_device_group *group, bool in_haste)
{
    if (group->ops->close != NULL)
        group->ops->close(group, in_haste);
    free(group);
}
