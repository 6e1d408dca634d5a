/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategy of a job: when and how devices synchronise.
 *
 * A strategy is a row of train/strategies.def: properties, which are readable without a trainer,
 * and the operations that a trainer calls (train/strategy_ops.h). Code outside the trainer tests
 * properties and never compares rows.
 *
 *     sh_strategy strategy;
 *     SH_TRY(sh_strategy_parse(&strategy, job.strategy));   // --strategy
 *     if (strategy.row->local) ... strategy.number local steps ...
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_STRATEGY_H
#define SHOAL_TRAIN_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_STRATEGY_MAX_NUMBER 65535u
#define SH_STRATEGY_LIST 256

typedef struct sh_strategy_row {
    const char *name;
    const char *number; /* name of its number, such as "K"; NULL: takes no number */
    const char *course; /* strategies of equal course and number give a job the same weights */
    bool servers;       /* devices send results to servers (cluster/serving.h) */
    bool apart;         /* a single device computes each batch */
    bool local;         /* a step consists of workers that each make `number` local steps */

    /* If MPI's collectives cannot run it: the option as the user writes it, and the reason; else
     * NULL. */
    const char *mpi_option, *mpi_reason;

    const struct sh_strategy_ops *ops;
} sh_strategy_row;

typedef struct sh_strategy {
    const sh_strategy_row *row;
    uint32_t number; /* at least 1; 0 if it takes none */
} sh_strategy;

/* SH_NOT_FOUND (the name) or SH_INVALID (the number). The message names the option, its fault and
 * valid forms. */
sh_status sh_strategy_parse(sh_strategy *strategy, const char *text) SHOAL_CHECKED;

/* Whether a job can change from one to the other with the same weights. */
bool sh_strategy_same_course(const sh_strategy *a, const sh_strategy *b);

/* Lists the forms of all strategies, or only of those with servers, separated by commas and by
 * `last` before the last one. */
void sh_strategy_list(char text[SH_STRATEGY_LIST], bool servers, const char *last);

#define SH_STRATEGY(noun, help) extern const sh_strategy_row sh_strategy_##noun;
#include "train/strategies.def"
#undef SH_STRATEGY

#endif
