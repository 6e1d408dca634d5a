/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made of the columns of a table for a model that another table has trained: columns are
 * found by their names, wherever they stand, and treated as they were then.
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
 * As sh_table_plan_make, with what options->trained says of inputs, targets and classes; inputs are
 * fitted already. Columns that the model does not know are left out, which is noted. Fails with
 * SH_NOT_FOUND, which names the columns that are missing, and with SH_MISMATCH where the model was
 * trained with no table.
 */
sh_status sh_table_plan_as_trained(sh_table_plan *plan, const sh_survey *survey, json_t *notes,
                                   const sh_read_options *options) SHOAL_CHECKED;

#endif
