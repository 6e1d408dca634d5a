/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as a timeline that Perfetto (ui.perfetto.dev) and chrome://tracing open: JSON in Chrome's
 * trace event format (Google, "Trace Event Format", 2016).
 *
 *     SH_TRY(sh_trace_write(output, database, "runs/a"));
 *
 * Moments and durations are in microseconds, to the nanosecond, since the run was started
 * (otherData.started, in seconds since 1970). Process and thread are the device's number.
 *
 *     M  process_name: the device's name; where sessions knew it by several, all of them
 *     X  "step N", and within it one after the other what parts took (monitor/parts.def), each
 *        added up: where in the step they were is not known. A row of table `work` that stands for
 *        M steps is one slice, "M steps to N"
 *     C  CPU in cores, network in MB/s between samples, memory in MB
 *     i  views, events
 *
 * A device's steps never overlap: where its moments, moved to the coordinator's clock, say so, the
 * later one is put behind the earlier one. What was not available is not there.
 *
 * Memory: 8 bytes a device and a buffer, however long the run was. Threads: as the database.
 */
#ifndef SHOAL_REPORT_TRACE_H
#define SHOAL_REPORT_TRACE_H

#include "report/export_output.h"
#include "store/database.h"

/* All as the database stands at one moment. `run` is for messages. SH_CORRUPT where a
 * device's number cannot be one. */
sh_status sh_trace_write(sh_export_output *output, sh_database *database,
                         const char *run) SHOAL_CHECKED;

#endif
