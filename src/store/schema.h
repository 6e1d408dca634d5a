/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a run's database, run.db. The journal writes them, and the history reads them.
 *
 * `at` is the time in seconds since 1970 on the coordinator's clock. Times of other devices are
 * converted at their arrival. A value that was not available is NULL.
 *
 * The tables `steps`, `work` and `samples` are bounded. If one has more than SH_SCHEMA_ROWS_MAX
 * rows, its older half is thinned: two neighbours of the same view or device become one row with
 * the later time, the means of the values, and the last values of counters. `merged` is the number
 * of rows that a row replaces.
 *
 * - run: one row; what was started, and how it ended.
 * - sessions: one row per process that was the coordinator: the first start and each resume.
 * - devices: the devices of all sessions; 0 is the coordinator.
 * - views: the devices of a view; `grains` is a device's share.
 * - epochs: one row per validated epoch.
 * - steps: one row per applied step. A repeated step replaces its row.
 * - work: one row per step and device; the time of each part (monitor/parts.def).
 * - samples: one row per device and tenth of a second (monitor/figures.def); counters are totals.
 * - events: one row per event; `device` may be NULL.
 *
 * step_parts (an SQL view) is `work` with the exchange time split in two: `wait_us`, until the
 * device with the longest computation was ready, and `network_us`, the rest.
 *
 *     SH_TRY(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_READ));
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_SCHEMA_H
#define SHOAL_STORE_SCHEMA_H

#include "store/database.h"

#define SH_SCHEMA_ROWS_MAX 1000000

/* The kind of a run's database. Static storage. */
const sh_database_kind *sh_schema_run(void);

#endif
