/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a training writes into the run's journal (store/journal): the run and this session, devices
 * and views, steps and epochs, what each device measures, the log's events. It has device 0's
 * telemetry.
 *
 *     SH_TRY(sh_run_journal_open(&journal, &options));
 *     sh_run_journal_step(journal, &report);
 *     sh_run_journal_end(journal, "complete", hash);
 *     sh_run_journal_close(journal);
 *
 * Each call but open does nothing with NULL: ranks other than the first have no journal.
 *
 * Threads: any, but for open, note and close. Nobody waits for a disk before end.
 */
#ifndef SHOAL_NODE_RUN_JOURNAL_H
#define SHOAL_NODE_RUN_JOURNAL_H

#include "cluster/directive.h"
#include "node/record/telemetry.h"
#include "shoal/train.h"
#include "store/journal.h"
#include "store/run.h"
#include "train/progress_report.h"
#include "train/workbench.h"

typedef struct sh_run_journal sh_run_journal;

typedef struct sh_run_journal_options {
    const sh_run *run;         /* borrowed during the call */
    const sh_workbench *bench; /* likewise; its trainer is there */
    const char *name;          /* of device 0, copied */
} sh_run_journal_options;

sh_status sh_run_journal_open(sh_run_journal **journal,
                              const sh_run_journal_options *options) SHOAL_CHECKED;
void sh_run_journal_close(sh_run_journal *journal);

/* The telemetry of device 0; NULL without a journal. Borrowed until the journal is closed. */
sh_telemetry *sh_run_journal_telemetry(const sh_run_journal *journal);

/* What the user should hear of the journal, once; false where there is nothing. */
bool sh_run_journal_note(sh_run_journal *journal, char text[SH_MESSAGE_BYTES]);

/* Another device. */
void sh_run_journal_device(sh_run_journal *journal, uint32_t device, const char *name,
                           uint32_t lanes);
void sh_run_journal_gone(sh_run_journal *journal, uint32_t device, const char *reason);

/* The next view was made because a device was lost. */
void sh_run_journal_lost(sh_run_journal *journal);

/* A view, from its first step on. Its reason follows from the view before: "start", "join", "loss",
 * "leave", "shares", or "links" if the seats are the same. */
void sh_run_journal_view(sh_run_journal *journal, uint32_t view, uint64_t step,
                         const sh_seat *seats, uint32_t count);

/* What another device has measured, moved to this clock. */
void sh_run_journal_batch(sh_run_journal *journal, uint32_t device,
                          const sh_telemetry_batch *batch);

void sh_run_journal_step(sh_run_journal *journal, const sh_progress_report *report);
void sh_run_journal_epoch(sh_run_journal *journal, const sh_event *event);

/* As sh_journal_end; waits until it is written, or cannot be. */
void sh_run_journal_end(sh_run_journal *journal, const char *status, const char *weights_hash);

#endif
