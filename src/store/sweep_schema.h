/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a sweep's database, sweep.db. sweep/trials writes them, and report/study reads
 * them.
 *
 * - trials: one row per trial of any version of the study: its settings (a column set_NAME per
 *   sh_setting, NULL: not set), its results (a column per SH_TRIAL_FIGURE_MAP, NULL: not
 *   available), and weights_hash. `state` is one of SH_TRIAL_STATE_MAP. `message` is the reason of
 *   a failure. `attempts` and `spent_seconds` include interrupted attempts. `begun` is the start of
 *   the last attempt, in seconds since 1970.
 * - study: the places of the study at the last start of its sweep. A trial may have several places,
 *   or none if it belongs to an earlier version.
 * - about: one row: the study's name, its file, and when it was read.
 *
 * sweep_schema.c also defines the names of shoal/sweep.h.
 *
 *     SH_TRY(sh_database_open(&database, path, sh_sweep_schema(), SH_DATABASE_READ));
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_SWEEP_SCHEMA_H
#define SHOAL_STORE_SWEEP_SCHEMA_H

#include "store/database.h"

#define SH_SWEEP_DATABASE "sweep.db"

/* The kind of a sweep's database. Static storage. */
const sh_database_kind *sh_sweep_schema(void);

#define SH_SWEEP_LIST_BYTES 2048

/* Columns with commas: all settings and the id; all figures and the hash. Static storage. */
const char *sh_sweep_schema_settings(void);
const char *sh_sweep_schema_figures(void);

/* Adds the columns that an earlier version did not have. */
sh_status sh_sweep_schema_extend(sh_database *database) SHOAL_CHECKED;

/* Returns the settings to select from trials, with NULL for missing columns. */
sh_status sh_sweep_schema_select(char list[SH_SWEEP_LIST_BYTES],
                                 sh_database *database) SHOAL_CHECKED;

#endif
