/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the results of a run: summary.json, and lines of metrics.jsonl.
 *
 *     SH_TRY(sh_summary_file_write(run, &summary, "complete"));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_SUMMARY_FILE_H
#define SHOAL_NODE_JOB_SUMMARY_FILE_H

#include "shoal/train.h"
#include "store/run.h"

/* Pointers are borrowed for the call; `ending` is "complete", "stopped" or "device lost". */
sh_status sh_summary_file_write(const sh_run *run, const sh_summary *summary,
                                const char *ending) SHOAL_CHECKED;

/* A line for metrics.jsonl; `*line` is owned: free it. */
sh_status sh_summary_epoch(char **line, const sh_event *event) SHOAL_CHECKED;

#endif
