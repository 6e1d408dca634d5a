/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/company.h"

#include <stdlib.h>
#include <string.h>

#include "shoal/launch.h"

const sh_company_ops *sh_company_find(const sh_train_options *options)
{
    static const sh_company_ops *const all[] = {&sh_company_ranks, &sh_company_crew,
                                                &sh_company_alone};
    const size_t last = sizeof all / sizeof *all - 1; /* fits every training */
    size_t i = 0;
    while (i < last && !all[i]->fits(options))
        i++;
    return all[i];
}

/* ---- optional slots -------------------------------------------------------------------------- */

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

sh_status sh_company_run(sh_company *company, sh_course *course, sh_ending *ending)
{
    return company->ops->run == NULL ? sh_course_run(course, ending)
                                     : company->ops->run(company, course, ending);
}

void sh_company_fail(sh_company *company, const char *reason)
{
    if (company->ops->fail != NULL)
        company->ops->fail(company, reason);
}

void sh_company_close(sh_company *company, bool in_haste)
{
    if (company != NULL)
        company->ops->close(company, in_haste);
}

/* ---- slots that companies share -------------------------------------------------------------- */

sh_status sh_company_check_engine(const sh_train_options *options)
{
    sh_launch launch;
    if (options->engine != NULL && strcmp(options->engine, "ring") != 0)
        return sh_fail(SH_INVALID, "--engine %.160s: must be ring or mpi", options->engine);
    if (!sh_launch_read(&launch) || launch.ranks == 1)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "%s has started %u of this, and each would train by itself: give --engine mpi, "
                   "or start one without %s",
                   launch.launcher, launch.ranks, launch.launcher);
}

void sh_company_enter_own(sh_company *company, uint32_t view, uint64_t step)
{
    const uint32_t grains = sh_job_grains(&company->bench->job);
    sh_run_journal_view(company->journal, view, step,
                        &(sh_seat){.share = sh_company_share(company, grains)}, 1);
}

sh_status sh_company_report_own(sh_company *company, const sh_device_report *own,
                                sh_device_report **reports, size_t *count, bool *reproducible)
{
    (void)company;
    sh_device_report *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the summary");
    *fresh = *own;
    *reports = fresh;
    *count = 1;
    *reproducible = true;
    return SH_OK;
}

sh_status sh_company_dismiss_nobody(sh_company *company, sh_status status, const char *message)
{
    (void)company;
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

sh_range sh_company_share(const sh_company *company, uint32_t grains)
{
    const uint64_t devices = company->engine->devices;
    const uint32_t first = (uint32_t)(grains * (uint64_t)company->rank / devices);
    const uint32_t end = (uint32_t)(grains * (company->rank + (uint64_t)1) / devices);
    return (sh_range){first, end - first};
}
