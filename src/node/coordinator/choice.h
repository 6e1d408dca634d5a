/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices the user has chosen to serve in a training.
 *
 *     sh_serving serving;
 *     SH_TRY(sh_choice_serving(&serving, &options, &job));
 *
 * Threads: any.
 */
#ifndef SHOAL_NODE_CHOICE_H
#define SHOAL_NODE_CHOICE_H

#include "cluster/serving.h"
#include "shoal/train.h"

/* Who serves, by options->servers and the job's strategy. SH_INVALID: the strategy has no servers,
 * the list is malformed, or names a device that there can never be. */
sh_status sh_choice_serving(sh_serving *serving, const sh_train_options *options,
                            const sh_job *job) SHOAL_CHECKED;

#endif
