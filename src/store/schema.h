/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a run's database, run.db: what the journal writes and the history reads.
 *
 *     SH_TRY(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_READ));
 *
 * Time is `at`: seconds since 1970, of the coordinator's clock; another device's moments are moved
 * by the difference of the clocks when they arrived. A column that is NULL was not available.
 * Tables `steps`, `work` and `samples` stay bounded: beyond SH_SCHEMA_ROWS_MAX rows the older half
 * is thinned, two neighbours of a view or device become one, the later, with the means of what is
 * not counted on; `merged` says how many a row stands for.
 *
 * - run: one row, what was started, and how it ended.
 * - sessions: one row for each process that was its coordinator: a training, each resume.
 * - devices: who took part, in any session; 0 is the coordinator.
 * - views: which devices, from which step on, and why; `grains` is a device's share.
 * - epochs: one row a validated epoch.
 * - steps: one row an applied step, as all devices know it; done again after a resume, it is
 *   replaced.
 * - work: one row a step and device, how long each part took there (monitor/parts.def).
 * - samples: one row a device and tenth of a second (monitor/figures.def); counters as they stood.
 * - events: what happened, once each; `device` is whom it happened to, NULL where that is no one.
 *
 * step_parts (a view) is `work` with the time that a device spent in exchanges parted in two:
 * `wait`, until the device that computed longest had computed, and `network`, the rest.
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_SCHEMA_H
#define SHOAL_STORE_SCHEMA_H

#include "store/database.h"

#define SH_SCHEMA_ROWS_MAX 1000000

/* Static storage. */
const sh_database_kind *sh_schema_run(void);

#endif
