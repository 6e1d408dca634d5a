/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/choice.h"

#include "train/strategy.h"

/* Devices count from 0 as they come; without a door only those started here do. */
static sh_status check_numbers(const sh_serving *serving, const sh_train_options *options)
{
    const uint32_t devices = options->devices > 0 ? options->devices : 1;
    if (options->listen != NULL)
        return SH_OK;
    for (uint32_t i = 0; i < serving->count; i++)
        if (serving->devices[i] >= devices)
            return sh_fail(SH_INVALID,
                           "--servers %.64s: there will be no device %u: those started here "
                           "(--devices) count from 0 to %u, and without --listen no others can "
                           "join",
                           options->servers, serving->devices[i], devices - 1);
    return SH_OK;
}

sh_status sh_choice_serving(sh_serving *serving, const sh_train_options *options, const sh_job *job)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, job->strategy));
    sh_serving fresh = {.on = strategy.row->servers};
    if (options->servers != NULL) {
        if (!fresh.on) {
            char others[SH_STRATEGY_LIST];
            sh_strategy_list(others, true, " and ");
            return sh_fail(SH_INVALID, "--servers %.64s: --strategy %s has no servers; %s have",
                           options->servers, job->strategy, others);
        }
        SH_TRY(sh_serving_parse(&fresh, options->servers));
        SH_TRY(check_numbers(&fresh, options));
    }
    *serving = fresh;
    return SH_OK;
}

/* When resuming, the strategy may be the checkpoint's, which is looked at when it is open. */
sh_status sh_train_options_check(const sh_train_options *options)
{
    sh_serving serving;
    if (options->resume != NULL)
        return SH_OK;
    return sh_choice_serving(&serving, options, &options->job);
}
