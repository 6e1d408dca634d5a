/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a sweep's database, sweep.db: what sweep/trials writes and report/study reads.
 *
 *     SH_TRY(sh_database_open(&database, path, sh_sweep_schema(), SH_DATABASE_READ));
 *
 * trials   one row for each trial that any version of the study had: its settings (a column
 *          set_NAME for each of sh_setting, NULL: not set), what came of it (a column for each
 *          of SH_TRIAL_FIGURE_MAP, NULL: not available), weights_hash. `state` is one of
 *          SH_TRIAL_STATE_MAP; `message` says why it failed. `attempts` and `spent_seconds` count
 *          those that were broken off, too; `begun` is when the last began, in seconds since 1970
 * study    the places of the study as it was at the last start of its sweep; a trial may have
 *          several. A trial without a place is of an earlier version
 * about    one row: the study's name, its file, and when it was read
 *
 * The names of shoal/sweep.h (sh_setting_name and others) are defined here, too.
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_SWEEP_SCHEMA_H
#define SHOAL_STORE_SWEEP_SCHEMA_H

#include "store/database.h"

#define SH_SWEEP_DATABASE "sweep.db"

/* Static storage. */
const sh_database_kind *sh_sweep_schema(void);

#define SH_SWEEP_LIST_BYTES 2048

/* Columns with commas between them: all settings and the id; all figures and the hash. Static
 * storage. */
const char *sh_sweep_schema_settings(void);
const char *sh_sweep_schema_figures(void);

/* Adds the settings that a database made by an earlier version does not have. */
sh_status sh_sweep_schema_extend(sh_database *database) SHOAL_CHECKED;

/* The settings as a list to select from trials: NULL in the place of one that is not there. */
sh_status sh_sweep_schema_select(char list[SH_SWEEP_LIST_BYTES],
                                 sh_database *database) SHOAL_CHECKED;

#endif
