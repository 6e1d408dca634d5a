/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a training's records to the run's journal (store/journal): the run and this session,
 * devices and views, steps and epochs, measurements of each device, the log's events. Owns device
 * 0's telemetry.
 *
 * All calls except open ignore NULL: only rank 0 has a journal.
 *
 *     SH_TRY(sh_run_journal_open(&journal, &options));
 *     sh_run_journal_step(journal, &report);
 *     sh_run_journal_end(journal, "complete", hash);
 *     sh_run_journal_close(journal);
 *
 * Threads: any, except open, note and close. Only end waits for the disk.
 */
#ifndef SHOAL_NODE_RUN_JOURNAL_H
#define SHOAL_NODE_RUN_JOURNAL_H

#include "cluster/directive.h"
#include "node/record/telemetry.h"
#include "shoal/train.h"
#include "store/journal.h"
#include "store/run.h"
#include "train/progress_report.h"
#include "train/session.h"

typedef struct sh_run_journal sh_run_journal;

typedef struct sh_run_journal_options {
    const sh_run *run;
    const sh_session *session; /* with a trainer; both are borrowed for the call */
    const char *name;          /* of device 0, copied */
} sh_run_journal_options;

sh_status sh_run_journal_open(sh_run_journal **journal,
                              const sh_run_journal_options *options) SHOAL_CHECKED;
void sh_run_journal_close(sh_run_journal *journal);

/* NULL without a journal. Borrowed until sh_run_journal_close. */
sh_telemetry *sh_run_journal_telemetry(const sh_run_journal *journal);

/* Device 0's newest sample; false: none yet. */
bool sh_run_journal_newest(sh_run_journal *journal, sh_sample *sample);

/* A message for the user, once; false: none. */
bool sh_run_journal_note(sh_run_journal *journal, char text[SH_MESSAGE_BYTES]);

void sh_run_journal_device(sh_run_journal *journal, uint32_t device, const char *name,
                           uint32_t lanes);
void sh_run_journal_gone(sh_run_journal *journal, uint32_t device, const char *reason);

/* The next view is due to a lost device. */
void sh_run_journal_lost(sh_run_journal *journal);

/* Records a view from its first step. The reason follows from the previous view: "start", "join",
 * "loss", "leave", "shares", or "links" if the seats are the same. */
void sh_run_journal_view(sh_run_journal *journal, uint32_t view, uint64_t step,
                         const sh_seat *seats, uint32_t count);

/* Another device's measurements, with times of this clock. */
void sh_run_journal_batch(sh_run_journal *journal, uint32_t device,
                          const sh_telemetry_batch *batch);

void sh_run_journal_step(sh_run_journal *journal, const sh_progress_report *report);
void sh_run_journal_epoch(sh_run_journal *journal, const sh_event *event);

/* Like sh_journal_end; waits until it is written or failed. */
void sh_run_journal_end(sh_run_journal *journal, const char *status, const char *weights_hash);

#endif
