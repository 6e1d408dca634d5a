/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a training goes into the run's journal (store/journal): the run and this session, devices
 * and views, steps and epochs, what each device records, the log's events. Device 0's own records
 * too.
 *
 *     SH_TRY(sh_chronicle_open(&chronicle, &options));
 *     sh_chronicle_step(chronicle, &report);
 *     sh_chronicle_end(chronicle, "complete", hash);
 *     sh_chronicle_close(chronicle);
 *
 * Each call but open takes NULL for a chronicle, and does nothing: ranks other than the first have
 * none.
 *
 * Threads: any, but for open, note and close. Nobody waits for a disk before end.
 */
#ifndef SHOAL_NODE_CHRONICLE_H
#define SHOAL_NODE_CHRONICLE_H

#include "cluster/directive.h"
#include "node/course.h"
#include "node/recorder.h"
#include "store/journal.h"
#include "store/run.h"

typedef struct sh_chronicle sh_chronicle;

typedef struct sh_chronicle_options {
    const sh_run *run;         /* borrowed during the call */
    const sh_workbench *bench; /* likewise; its trainer is there */
    const char *name;          /* of device 0, copied */
} sh_chronicle_options;

sh_status sh_chronicle_open(sh_chronicle **chronicle,
                            const sh_chronicle_options *options) SHOAL_CHECKED;
void sh_chronicle_close(sh_chronicle *chronicle);

/* The recorder of device 0; NULL without a chronicle. Borrowed until it is closed. */
sh_recorder *sh_chronicle_recorder(const sh_chronicle *chronicle);

/* What the user should hear of the journal, once; false where there is nothing. */
bool sh_chronicle_note(sh_chronicle *chronicle, char text[SH_MESSAGE_BYTES]);

/* Another device; `family` may be "". */
void sh_chronicle_device(sh_chronicle *chronicle, uint32_t device, const char *name, uint32_t lanes,
                         const char *family);
void sh_chronicle_gone(sh_chronicle *chronicle, uint32_t device, const char *reason);

/* The next view was made because a device was lost. */
void sh_chronicle_lost(sh_chronicle *chronicle);

/* A view, from its first step on. Its reason follows from the seats of the view before: "start",
 * "join", "loss", "leave", "shares", and "links" where they are the same. */
void sh_chronicle_view(sh_chronicle *chronicle, uint32_t view, uint64_t step, const sh_seat *seats,
                       uint32_t count);

/* A device's records, moved to this clock. */
void sh_chronicle_records(sh_chronicle *chronicle, uint32_t device, const sh_records *records);

void sh_chronicle_step(sh_chronicle *chronicle, const sh_progress_report *report);
void sh_chronicle_epoch(sh_chronicle *chronicle, const sh_event *event);

/* As sh_journal_end; waits until it is written, or cannot be. */
void sh_chronicle_end(sh_chronicle *chronicle, const char *status, const char *weights_hash);

#endif
