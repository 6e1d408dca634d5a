/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a run's database (store/schema.h) while the run goes on.
 *
 * Callers do not wait for the disk. Records are copied into a queue of SH_JOURNAL_QUEUE, and the
 * journal's thread writes them about once per second of `clock` and after an epoch. Records that do
 * not fit into the queue are dropped and counted, and an event of the kind `journal.dropped` is
 * recorded.
 *
 * An error of the database never ends a training; `on_trouble` reports it once. After a temporary
 * error (a full disk) the journal retries every SH_JOURNAL_RETRY_NS. A database that is damaged or
 * belongs to another program is renamed to run.db.damaged-N, and a new one is made. A database of
 * an unknown version is not changed, and nothing is recorded.
 *
 * A session that begins at an earlier step than the last one ended removes the rows of the steps to
 * repeat. Thinning (store/schema.h) keeps the weighted means of times and gauges (weight:
 * `merged`), the rounded means of grains and samples, and the last values of counters.
 *
 * Times are of `clock`, in ns. The caller converts times of other devices.
 *
 *     SH_TRY(sh_journal_open(&journal, &options));
 *     sh_journal_step(journal, &(sh_journal_step_row){.step = 1, .at_ns = now_ns, .loss = 2.3});
 *     sh_journal_sample(journal, device, &sample);
 *     sh_journal_end(journal, "complete", hash);
 *     sh_journal_close(journal);
 *
 * Threads: any; only the opener calls close and flush.
 */
#ifndef SHOAL_STORE_JOURNAL_H
#define SHOAL_STORE_JOURNAL_H

#include "base/clock.h"
#include "monitor/sample.h"
#include "monitor/step_times.h"
#include "store/run.h"
#include "store/schema.h"

#define SH_JOURNAL_QUEUE 4096              /* records */
#define SH_JOURNAL_PERIOD_NS 1000000000ULL /* between transactions */
#define SH_JOURNAL_SOON 512                /* waiting records that start a transaction early */
#define SH_JOURNAL_RETRY_NS (10 * 1000000000ULL) /* after a temporary error */
#define SH_JOURNAL_NAME_BYTES 72                 /* of names and reasons; longer ones are cut */
#define SH_JOURNAL_NO_DEVICE UINT32_MAX

typedef struct sh_journal sh_journal;

/* Texts are borrowed during the call. */
typedef struct sh_journal_run {
    const char *model, *data, *job;
    uint64_t parameters, steps, epoch_steps;
    uint32_t epochs, grains;
} sh_journal_run;

typedef struct sh_journal_options {
    const char *folder;    /* of the run; copied */
    const char *version;   /* of the program; copied */
    sh_journal_run run;    /* copied */
    uint64_t start_step;   /* steps applied before the session */
    const sh_clock *clock; /* borrowed until sh_journal_close */
    double date;           /* the current time by the system's clock, in seconds since 1970 */
    void (*on_trouble)(void *context, const char *text); /* on the journal's thread; optional */
    void *context;                                       /* borrowed until sh_journal_close */
    uint64_t reserve_bytes; /* disk space reserved for checkpoints: SH_NO_SPACE below it */
    uint64_t rows_max;      /* of each thinned table; 0: SH_SCHEMA_ROWS_MAX */
} sh_journal_options;

typedef struct sh_journal_device_row {
    uint32_t device;
    uint64_t at_ns;        /* when it joined */
    const char *name;      /* copied */
    uint32_t lanes, cores; /* cores may be 0: not known */
} sh_journal_device_row;

typedef struct sh_journal_view_row {
    uint32_t view, device;
    uint64_t at_ns, step; /* the first step done in it */
    uint32_t grains;
    const char *reason; /* copied */
} sh_journal_view_row;

typedef struct sh_journal_step_row {
    uint64_t step, at_ns;
    uint32_t merged;                       /* steps in this row: those of a lap; 0: 1 */
    uint32_t view, epoch, samples, redone; /* epoch from 1 */
    double loss, accuracy;
} sh_journal_step_row;

typedef struct sh_journal_epoch_row {
    uint64_t step, at_ns;
    uint32_t epoch; /* from 1 */
    double loss, accuracy, val_loss, val_accuracy, seconds;
} sh_journal_epoch_row;

/* `*journal` is owned: close it. Fails only without memory or threads. */
sh_status sh_journal_open(sh_journal **journal, const sh_journal_options *options) SHOAL_CHECKED;

/* Writes the queue, also after an error. */
void sh_journal_close(sh_journal *journal);

void sh_journal_device(sh_journal *journal, const sh_journal_device_row *row);
void sh_journal_device_gone(sh_journal *journal, uint32_t device, uint64_t at_ns,
                            const char *reason);
void sh_journal_view(sh_journal *journal, const sh_journal_view_row *row);
void sh_journal_step(sh_journal *journal, const sh_journal_step_row *row);
void sh_journal_epoch(sh_journal *journal, const sh_journal_epoch_row *row);

/* The caller has converted `ends_ns` and `at_ns` to the journal's clock. A sample replaces one of
 * the same device and time. */
void sh_journal_work(sh_journal *journal, uint32_t device, const sh_step_times *times);
void sh_journal_sample(sh_journal *journal, uint32_t device, const sh_sample *sample);

/* `device` may be SH_JOURNAL_NO_DEVICE; `kind` and `text` are copied. */
void sh_journal_event(sh_journal *journal, uint64_t at_ns, uint32_t device, const char *kind,
                      const char *text);

/* Records a line of the log (base/log.h) as an event. If its first key is "device", the event
 * belongs to that device, and the key is removed from the text. */
void sh_journal_line(sh_journal *journal, uint64_t at_ns, const char *line);

/* `weights_hash` NULL: the run is not complete. */
void sh_journal_end(sh_journal *journal, const char *status, const char *weights_hash);

/* Waits until all earlier records are written and thinned, or have failed. */
void sh_journal_flush(sh_journal *journal);

uint64_t sh_journal_dropped(sh_journal *journal);

#endif
