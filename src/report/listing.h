/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the summary of a run from its database, for sh_runs_list (shoal/runs.h) and others.
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

/* `*database` is owned. SH_NOT_FOUND: the message says whether the folder or the run is missing. */
sh_status sh_listing_open(sh_database **database, const char *folder) SHOAL_CHECKED;

/* SH_NOT_FOUND: the run has not begun (sh_listing_begins). */
sh_status sh_listing_read(sh_run_about *about, sh_database *database,
                          const char *folder) SHOAL_CHECKED;

/* Whether `status`, a failure of the calls above, means that an active training has not written
 * anything. Then sets `about`. */
bool sh_listing_begins(sh_run_about *about, sh_status status, const char *folder);

#endif
