/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the columns of a table for a model that was trained with another table. Columns are found
 * by name, at any position, and treated as in training.
 *
 *     SH_TRY(sh_table_plan_as_trained(&plan, &survey, notes, options));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_TABLE_TRAINED_H
#define SHOAL_DATA_TABLE_TABLE_TRAINED_H

#include "data/table/table_plan.h"
#include "data/trained.h"

/*
 * As sh_table_plan_make, with the inputs (already fitted), targets and classes of options->trained.
 * Notes unused columns. SH_NOT_FOUND, naming the missing columns; SH_MISMATCH if the model was not
 * trained with a table.
 */
sh_status sh_table_plan_as_trained(sh_table_plan *plan, const sh_survey *survey, json_t *notes,
                                   const sh_read_options *options) SHOAL_CHECKED;

#endif
