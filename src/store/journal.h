/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run's database (store/schema.h) while the run goes on.
 *
 *     SH_TRY(sh_journal_open(&journal, &options));
 *     sh_journal_step(journal, &(sh_journal_step_row){.step = 1, .at_ns = now_ns, .loss = 2.3});
 *     sh_journal_sample(journal, device, &sample);
 *     sh_journal_end(journal, "complete", hash);
 *     sh_journal_close(journal);
 *
 * Nobody waits for the disk: records are copied into a queue of SH_JOURNAL_QUEUE, and a thread of
 * the journal's own writes what has come, in a transaction about once a second of `clock`, and
 * after an epoch. What the queue cannot take is dropped, counted, and told by an event of kind
 * `journal.dropped`.
 *
 * Trouble with the database never ends a training: it is told once by `on_trouble`. Where it may
 * pass (a full disk) the journal tries again every SH_JOURNAL_RETRY_NS, with all that the queue
 * still holds. A database that is damaged or another program's is moved aside, to
 * run.db.damaged-N, and a new one begun; one of an unknown version stays as it is, and nothing is
 * written.
 *
 * A session that begins at an earlier step than the last one ended removes what is about to be done
 * again. Thinning (schema.h) takes means of times and gauges and the last of counters, by
 * `merged`; of grains and samples the mean, rounded.
 *
 * Moments are of `clock`, in ns; those of other devices are the caller's to move.
 *
 * Threads: any; close and flush are the caller's who opened it. The thread's name is "journal".
 */
#ifndef SHOAL_STORE_JOURNAL_H
#define SHOAL_STORE_JOURNAL_H

#include "base/clock.h"
#include "monitor/sample.h"
#include "monitor/step_times.h"
#include "store/run.h"
#include "store/schema.h"

#define SH_JOURNAL_QUEUE 4096                    /* records */
#define SH_JOURNAL_PERIOD_NS 1000000000ULL       /* between transactions */
#define SH_JOURNAL_SOON 512                      /* records that do not wait for the period's end */
#define SH_JOURNAL_RETRY_NS (10 * 1000000000ULL) /* after trouble that may pass */
#define SH_JOURNAL_NAME_BYTES 72                 /* of names, reasons; longer ones are cut */
#define SH_JOURNAL_NO_DEVICE UINT32_MAX

typedef struct sh_journal sh_journal;

/* The row of table `run`; texts are borrowed during the call. */
typedef struct sh_journal_run {
    const char *model, *data, *job;
    uint64_t parameters, steps, epoch_steps;
    uint32_t epochs, grains;
} sh_journal_run;

typedef struct sh_journal_options {
    const char *folder;    /* of the run; copied */
    const char *version;   /* of the program; copied */
    sh_journal_run run;    /* copied */
    uint64_t start_step;   /* applied when the session begins */
    const sh_clock *clock; /* borrowed until it is closed */
    double date;           /* seconds since 1970 now, by the system's clock */
    void (*on_trouble)(void *context, const char *text); /* the journal's thread; optional */
    void *context;                                       /* borrowed until it is closed */
    uint64_t reserve_bytes; /* of the disk, which are left to checkpoints: SH_NO_SPACE below */
    uint64_t rows_max;      /* of `work` and of `samples`; 0: SH_SCHEMA_ROWS_MAX */
} sh_journal_options;

typedef struct sh_journal_device_row {
    uint32_t device;
    uint64_t at_ns;        /* when it joined */
    const char *name;      /* copied */
    uint32_t lanes, cores; /* cores 0: not known */
} sh_journal_device_row;

typedef struct sh_journal_view_row {
    uint32_t view, device;
    uint64_t at_ns, step; /* the first step done in it */
    uint32_t grains;
    const char *reason; /* copied */
} sh_journal_view_row;

typedef struct sh_journal_step_row {
    uint64_t step, at_ns;
    uint32_t merged;                       /* steps that it stands for: those of a lap; 0: 1 */
    uint32_t view, epoch, samples, redone; /* epoch from 1 */
    double loss, accuracy;
} sh_journal_step_row;

typedef struct sh_journal_epoch_row {
    uint64_t step, at_ns;
    uint32_t epoch; /* from 1 */
    double loss, accuracy, val_loss, val_accuracy, seconds;
} sh_journal_epoch_row;

/* Begins a session. Fails for want of memory or threads alone; `*journal` is owned: close it. */
sh_status sh_journal_open(sh_journal **journal, const sh_journal_options *options) SHOAL_CHECKED;

/* Writes what the queue holds, tries a last time where there was trouble, and ends the thread. NULL
 * is fine. */
void sh_journal_close(sh_journal *journal);

void sh_journal_device(sh_journal *journal, const sh_journal_device_row *row);
void sh_journal_device_gone(sh_journal *journal, uint32_t device, uint64_t at_ns,
                            const char *reason);
void sh_journal_view(sh_journal *journal, const sh_journal_view_row *row);
void sh_journal_step(sh_journal *journal, const sh_journal_step_row *row);
void sh_journal_epoch(sh_journal *journal, const sh_journal_epoch_row *row);

/* A step's times, of `ends_ns`; a sample, of `at_ns`: moved to this clock. Of two samples of one
 * device and moment the later one stays. */
void sh_journal_work(sh_journal *journal, uint32_t device, const sh_step_times *times);
void sh_journal_sample(sh_journal *journal, uint32_t device, const sh_sample *sample);

/* `device` may be SH_JOURNAL_NO_DEVICE; `kind` and `text` are copied. */
void sh_journal_event(sh_journal *journal, uint64_t at_ns, uint32_t device, const char *kind,
                      const char *text);

/* A line of the log (base/log.h) as an event: of the device that its first key names, as in
 * "device=2 reason=...", which is then not in the text; else of none. */
void sh_journal_line(sh_journal *journal, uint64_t at_ns, const char *line);

/* How the session ends; `weights_hash` NULL: the run is not complete. */
void sh_journal_end(sh_journal *journal, const char *status, const char *weights_hash);

/* Waits until all that was put before is written, and thinned, or has failed to be. */
void sh_journal_flush(sh_journal *journal);

/* Records that were dropped so far. */
uint64_t sh_journal_dropped(sh_journal *journal);

#endif
