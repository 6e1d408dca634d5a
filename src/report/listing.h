/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run's database says of the run as a whole; the public part is sh_runs_list (shoal/runs.h).
 *
 *     SH_TRY(sh_listing_open(&database, "runs/a"));
 *     sh_status status = sh_listing_read(&about, database, "runs/a");
 *     sh_database_close(database);
 *
 * Threads: as the database.
 */
#ifndef SHOAL_REPORT_LISTING_H
#define SHOAL_REPORT_LISTING_H

#include "shoal/runs.h"
#include "store/database.h"

/* Opens the database of the run in `folder` for reading; owned. SH_NOT_FOUND says whether the
 * folder is missing or holds no run. */
sh_status sh_listing_open(sh_database **database, const char *folder) SHOAL_CHECKED;

/* SH_NOT_FOUND where the run has not begun (sh_listing_begins). */
sh_status sh_listing_read(sh_run_about *about, sh_database *database,
                          const char *folder) SHOAL_CHECKED;

/* Whether a failure of the two, `status`, is that a training is at work in the folder and has
 * written nothing yet. Then `about` is that of a run of which no more is known. */
bool sh_listing_begins(sh_run_about *about, sh_status status, const char *folder);

#endif
