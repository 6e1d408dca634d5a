/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how the columns of a table are used: the task, by the content of the targets, and the
 * inputs and their form, by their content and the user's options.
 *
 * Without the option --task, one target of words, or of at most 20 distinct whole numbers, is a
 * class. Several targets that are all 0 or 1 are labels. Other numbers and dates are numbers.
 *
 *     sh_table_plan plan;
 *     SH_TRY(sh_table_plan_make(&plan, &survey, notes, options));
 *     for (uint32_t i = 0; i < plan.input_count; i++)
 *         SH_TRY(sh_column_transform_value(&plan.inputs[i], &value,
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_TABLE_PLAN_H
#define SHOAL_DATA_TABLE_TABLE_PLAN_H

#include "data/dataset.h"
#include "data/table/column_survey.h"
#include "data/table/column_transform.h"

typedef struct sh_table_plan {
    sh_target task;
    sh_column_transform
        *targets;          /* a category with the classes as words; or numbers, dates or labels */
    uint32_t target_count; /* 0: the sample is its target */
    sh_column_transform *inputs;
    uint32_t input_count;
} sh_table_plan;

/*
 * Moves words out of `survey`. Adds columns that are left out, with the reason, to `notes` (a JSON
 * array). `*plan` is owned. SH_NOT_FOUND and SH_INVALID for wrong options, SH_FORMAT and SH_LIMIT
 * for a target or column that cannot be used.
 */
sh_status sh_table_plan_make(sh_table_plan *plan, sh_survey *survey, json_t *notes,
                             const sh_read_options *options) SHOAL_CHECKED;

/* Safe for a zeroed value. */
void sh_table_plan_release(sh_table_plan *plan);

#endif
