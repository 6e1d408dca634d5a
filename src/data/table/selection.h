/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the targets and inputs of a table by the user's options.
 *
 * A list consists of column names, or numbers from 1, separated by commas. An input may be followed
 * by its kind: ":number", ":category", ":date" or ":ordinal(low;mid;high)" with the lowest first.
 * "-name" excludes a column. "*" includes all columns that are not named, as in "*,zip:category".
 *
 *     sh_selection selection;
 *     SH_TRY(sh_selection_make(&selection, &survey, "price", "age,grade:ordinal(low;high)", true));
 *     if (selection.roles[2].use == SH_USE_INPUT) ...
 *     sh_selection_release(&selection);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_SELECTION_H
#define SHOAL_DATA_TABLE_SELECTION_H

#include "data/table/column_survey.h"

typedef enum sh_use {
    SH_USE_NONE,
    SH_USE_INPUT,
    SH_USE_TARGET,
} sh_use;

typedef struct sh_role {
    sh_use use;
    bool named;          /* the user named or excluded it in the list of inputs */
    sh_kind kind;        /* declared by the user; SH_KIND_NOTHING: by its content */
    sh_vocabulary order; /* SH_KIND_ORDINAL: lowest first */
} sh_role;

typedef struct sh_selection {
    sh_role *roles; /* for each column */
    size_t count;
    uint32_t *targets; /* in the order of the option */
    uint32_t target_count;
} sh_selection;

/*
 * `target` and `inputs` are those of sh_read_options. Without a target it is the last column if
 * `needs_target`. `*selection` is owned. SH_NOT_FOUND for an unknown column, with the nearest name;
 * SH_INVALID; SH_LIMIT.
 */
sh_status sh_selection_make(sh_selection *selection, const sh_survey *survey, const char *target,
                            const char *inputs, bool needs_target) SHOAL_CHECKED;

/* Safe for a zeroed value. */
void sh_selection_release(sh_selection *selection);

#endif
