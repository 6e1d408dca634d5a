/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/company.h"

#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "shoal/launch.h"

/* ---- alone: no thread, socket or token ------------------------------------------------------- */

static sh_status open_alone(sh_company *company)
{
    company->engine = sh_engine_solo();
    return SH_OK;
}

static const sh_company_ops alone = {
    .purpose = "a training",
    .bytes = sizeof(sh_company),
    .open = open_alone,
};

static const sh_company_ops *find(const sh_train_options *options)
{
    const sh_company_ops *all[] = {&sh_company_ranks, &sh_company_crew};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->fits(options))
            return all[i];
    return &alone;
}

/* ---- the options ----------------------------------------------------------------------------- */

sh_status sh_company_check(const sh_train_options *options)
{
    const sh_company_ops *ops = find(options);
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

uint32_t sh_company_devices(const sh_train_options *options)
{
    const sh_company_ops *ops = find(options);
    return ops->devices == NULL ? 1 : ops->devices(options);
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_status sh_company_open(sh_company **company, const sh_train_options *options)
{
    const sh_company_ops *ops = find(options);
    sh_company *fresh = calloc(1, ops->bytes);
    if (fresh == NULL)
        return sh_fail_memory(ops->bytes, ops->purpose);
    fresh->ops = ops;
    fresh->options = options;
    fresh->devices = sh_company_devices(options);
    fresh->here = 1;
    sh_host_name(fresh->name);
    const sh_status status = ops->open(fresh);
    if (status == SH_OK)
        *company = fresh;
    else
        sh_company_close(fresh, true);
    return status;
}

sh_status sh_company_unite(sh_company *company, sh_status status)
{
    return company->ops->unite == NULL ? status : company->ops->unite(company, status);
}

sh_status sh_company_compare(sh_company *company)
{
    return company->ops->compare == NULL ? SH_OK : company->ops->compare(company);
}

sh_status sh_company_assemble(sh_company *company)
{
    return company->ops->assemble == NULL ? SH_OK : company->ops->assemble(company);
}

sh_range sh_company_share(const sh_company *company)
{
    const uint32_t grains = sh_job_grains(&company->bench->job);
    const uint64_t devices = company->engine->devices;
    const uint32_t first = (uint32_t)(grains * (uint64_t)company->rank / devices);
    const uint32_t end = (uint32_t)(grains * (company->rank + (uint64_t)1) / devices);
    return (sh_range){first, end - first};
}

void sh_company_enter(sh_company *company, uint32_t view, uint64_t step)
{
    if (company->ops->enter != NULL)
        company->ops->enter(company, view, step);
    else
        sh_run_journal_view(company->journal, view, step,
                            &(sh_seat){.share = sh_company_share(company)}, 1);
}

sh_status sh_company_run(sh_company *company, sh_course *course, sh_ending *ending)
{
    return company->ops->run == NULL ? sh_course_run(course, ending)
                                     : company->ops->run(company, course, ending);
}

sh_status sh_company_reports(sh_company *company, const sh_device_report *own,
                             sh_device_report **reports, size_t *count)
{
    if (company->ops->reports != NULL)
        return company->ops->reports(company, own, reports, count);
    return sh_company_report_own(own, reports, count);
}

sh_status sh_company_report_own(const sh_device_report *own, sh_device_report **reports,
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

void sh_company_fail(sh_company *company, const char *reason)
{
    if (company->ops->fail != NULL)
        company->ops->fail(company, reason);
}

sh_status sh_company_dismiss(sh_company *company, sh_status status, const char *message)
{
    if (company->ops->dismiss != NULL)
        return company->ops->dismiss(company, status, message);
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

void sh_company_close(sh_company *company, bool in_haste)
{
    if (company->ops->close != NULL)
        company->ops->close(company, in_haste);
    free(company);
}
