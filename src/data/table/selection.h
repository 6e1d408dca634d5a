/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which columns of a table are targets and which inputs, as options say.
 *
 *     sh_selection selection;
 *     SH_TRY(sh_selection_make(&selection, &survey, "price", "age,grade:ordinal(low;high)", true));
 *     if (selection.roles[2].use == SH_USE_INPUT) ...
 *     sh_selection_release(&selection);
 *
 * A list is names, or numbers from 1, with commas between them. Of inputs each may be followed by
 * what it is, ":number", ":category", ":date" or ":ordinal(low;mid;high)", the lowest first.
 * "-name" leaves a column out of all others, and "*" means all that are not named:
 * "*,zip:category".
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
    bool named;       /* the user named it as an input */
    sh_kind kind;     /* declared; SH_KIND_NOTHING: by what it holds */
    sh_lexicon order; /* of SH_KIND_ORDINAL: the words, the lowest first */
} sh_role;

typedef struct sh_selection {
    sh_role *roles; /* of each column */
    size_t count;
    uint32_t *targets; /* columns, in the order in which they were named */
    uint32_t target_count;
} sh_selection;

/*
 * `target` and `inputs` are those of sh_read_options; without a target it is the last column if
 * `needs_target`, else none. `*selection` is owned: sh_selection_release it. Fails with
 * SH_NOT_FOUND for an unknown column, proposing the nearest, and with SH_INVALID.
 */
sh_status sh_selection_make(sh_selection *selection, const sh_survey *survey, const char *target,
                            const char *inputs, bool needs_target) SHOAL_CHECKED;

/* Zeroed is fine. */
void sh_selection_release(sh_selection *selection);

#endif
