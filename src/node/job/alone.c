/* SPDX-License-Identifier: Apache-2.0 */
/* The company of a device that trains by itself: no thread, no socket, no token. */
#include <stdlib.h>

#include "base/host.h"
#include "node/job/company.h"

static bool fits(const sh_train_options *options)
{
    (void)options;
    return true;
}

static uint32_t count_devices(const sh_train_options *options)
{
    (void)options;
    return 1;
}

static sh_status open_alone(sh_company **company, const sh_company_ops *ops,
                            const sh_train_options *options)
{
    sh_company *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a training");
    *fresh = (sh_company){
        .ops = ops, .options = options, .devices = 1, .here = 1, .engine = sh_engine_solo()};
    sh_host_name(fresh->name);
    *company = fresh;
    return SH_OK;
}

static void close_alone(sh_company *company, bool in_haste)
{
    (void)in_haste;
    free(company);
}

const sh_company_ops sh_company_alone = {
    .name = "alone",
    .fits = fits,
    .check = sh_company_check_engine,
    .devices = count_devices,
    .open = open_alone,
    .enter = sh_company_enter_own,
    .reports = sh_company_report_own,
    .dismiss = sh_company_dismiss_nobody,
    .close = close_alone,
};
