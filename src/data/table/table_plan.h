/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made of each column of a table: the task, by what the targets hold, and which columns are
 * inputs in which form, by what they hold and what the user says.
 *
 *     sh_table_plan plan;
 *     SH_TRY(sh_table_plan_make(&plan, &survey, notes, options));
 *     for (uint32_t i = 0; i < plan.input_count; i++)
 *         SH_TRY(sh_treatment_value(&plan.inputs[i], &value, row->fields[plan.inputs[i].column]));
 *     sh_table_plan_release(&plan);
 *
 * The task is --task where that is given. Else one target of words, or of at most 20 different
 * whole numbers, is a class; several targets that are all 0 or 1 are labels; other numbers and
 * dates are numbers.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_TABLE_PLAN_H
#define SHOAL_DATA_TABLE_TABLE_PLAN_H

#include "data/dataset.h"
#include "data/table/column_survey.h"
#include "data/table/treatment.h"

typedef struct sh_table_plan {
    sh_target task;
    sh_treatment *targets; /* a category, whose words are the classes; or numbers */
    uint32_t target_count; /* 0: the sample is its own target */
    sh_treatment *inputs;
    uint32_t input_count;
} sh_table_plan;

/*
 * Takes words out of `survey`. Adds to `notes` (a JSON array) which columns are left out, and why.
 * `*plan` is owned: sh_table_plan_release it. Fails with SH_NOT_FOUND and SH_INVALID for what the
 * options say, with SH_FORMAT for a target or column that cannot be used.
 */
sh_status sh_table_plan_make(sh_table_plan *plan, sh_survey *survey, json_t *notes,
                             const sh_read_options *options) SHOAL_CHECKED;

/* Zeroed is fine. */
void sh_table_plan_release(sh_table_plan *plan);

#endif
