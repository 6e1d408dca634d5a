/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run's timeline for Perfetto (ui.perfetto.dev) and chrome://tracing: JSON in Chrome's
 * trace event format (Google, "Trace Event Format", 2016).
 *
 * Times are microseconds, to the nanosecond, since the start of the run (otherData.started, in
 * seconds since 1970). Process and thread are the device's number.
 *
 *     M  process_name: all names of the device
 *     X  "step N", and in it the totals of its parts (monitor/parts.def) one after another, because
 *        their real times are unknown. A row of table `work` for M steps is one slice, "M steps to
 *        N"
 *     C  CPU in cores, network in MB/s between samples, memory in MB
 *     i  views, events
 *
 * Times are the coordinator's; a step is moved behind an earlier one that it overlaps. Unavailable
 * values are omitted.
 *
 *     SH_TRY(sh_trace_write(output, database, "runs/a"));
 *
 * Threads: as the database.
 */
#ifndef SHOAL_REPORT_TRACE_H
#define SHOAL_REPORT_TRACE_H

#include "report/export_output.h"
#include "store/database.h"

/* A consistent snapshot. `run` is for messages. SH_CORRUPT: an invalid device number. */
sh_status sh_trace_write(sh_export_output *output, sh_database *database,
                         const char *run) SHOAL_CHECKED;

#endif
