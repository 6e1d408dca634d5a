/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists runs, reads the state of one, and writes its tables as text.
 *
 *     sh_run_list list;
 *     if (sh_runs_list(&list, "runs") == SH_OK)
 *         for (size_t i = 0; i < list.count; i++)
 *             printf("%s %.2f %%\n", list.runs[i].name, 100 * list.runs[i].val_accuracy);
 *     sh_run_list_release(&list);
 *
 * A run may be active meanwhile; nothing is changed. NaN: unknown. Times are seconds since 1970.
 *
 * Failures: SH_NOT_FOUND: no run. SH_FORMAT, SH_VERSION, SH_CORRUPT: its database is not one, has
 * an unknown version, is damaged. SH_PERMISSION, SH_IO.
 *
 * Threads: any.
 */
#ifndef SHOAL_RUNS_H
#define SHOAL_RUNS_H

#include <stdbool.h>
#include <stdio.h>

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Name, text. */
#define SH_RUN_STATE_MAP(X)                                                                        \
    X(COMPLETE, "complete")                                                                        \
    X(STOPPED, "stopped") /* on request, or because a device was lost */                           \
    X(FAILED, "failed")   /* `reason` says why */                                                  \
    X(RUNNING, "running")                                                                          \
    X(KILLED, "killed")         /* it ended without a record */                                    \
    X(UNREADABLE, "unreadable") /* `reason` says why; only the name is known */

typedef enum sh_run_state {
#define SH_RUN_STATE_ENUM(name, text) SH_STATE_##name,
    SH_RUN_STATE_MAP(SH_RUN_STATE_ENUM)
#undef SH_RUN_STATE_ENUM
} sh_run_state;

/* Static. */
SHOAL_API const char *sh_run_state_text(sh_run_state state);

typedef struct sh_run_about {
    char folder[SH_RUN_BYTES];
    char name[256]; /* the last part of the folder */
    sh_run_state state;
    char reason[SH_RUN_BYTES];
    char model[SH_MODEL_BYTES];
    char data[SH_DATA_BYTES];
    uint32_t devices;              /* since the training was started or resumed */
    uint64_t step, steps;          /* applied; of the whole job */
    uint32_t epoch, epochs;        /* of the last step, from 1; of the whole job */
    double val_loss, val_accuracy; /* of the last validation */
    double started, seconds;       /* without the time between sessions */
} sh_run_about;

typedef struct sh_run_list {
    sh_run_about *runs; /* owned; the newest first, unreadable ones last, by name */
    size_t count;
} sh_run_list;

/* The runs in `folder` (NULL: "runs"), also unreadable ones, or `folder` itself if it is a run.
 * SH_NOT_FOUND: no such folder. */
SHOAL_API sh_status sh_runs_list(sh_run_list *list, const char *folder) SHOAL_CHECKED;
SHOAL_API void sh_run_list_release(sh_run_list *list);

/* Rates are those of the last few seconds. */
typedef struct sh_run_device {
    uint32_t device;
    char name[SH_NAME_BYTES];
    bool is_gone;
    char reason[256];          /* why it is gone */
    double share;              /* of a step's grains, 0 .. 1 */
    double samples_per_second; /* of its own samples */
    /* Parts of its time in steps, 0 .. 1: computing; waiting for its lanes, other devices, the
     * network; updating weights. */
    double compute, lanes, wait, network, optimizer;
    double cpu; /* cores that it uses */
    double memory_bytes;
    double sent_bytes_per_second, received_bytes_per_second;
    double temperature_celsius;
    double throttled; /* 1 while throttled for heat or voltage, else 0 */
    double held_back; /* part of the time that a quota stopped it, 0 .. 1 */
} sh_run_device;

typedef struct sh_run_news {
    double at;
    int64_t device; /* -1: none */
    char kind[64];
    char text[512];
} sh_run_news;

#define SH_RUN_NEWS_MAX 16

typedef struct sh_run_snapshot {
    sh_run_about about;
    double at;             /* of the newest figures */
    double loss, accuracy; /* training: mean of the last few seconds */
    double samples_per_second, steps_per_second;
    double eta_seconds;
    sh_run_device *devices; /* owned */
    size_t device_count;
    sh_run_news news[SH_RUN_NEWS_MAX]; /* the newest last */
    size_t news_count;
} sh_run_snapshot;

/* The current state of a run. An active run that has not written anything is SH_STATE_RUNNING with
 * `about.steps` 0. */
SHOAL_API sh_status sh_run_look(sh_run_snapshot *snapshot, const char *folder) SHOAL_CHECKED;
SHOAL_API void sh_run_snapshot_release(sh_run_snapshot *snapshot);

typedef enum sh_export_format {
    SH_EXPORT_CSV,  /* RFC 4180 with line feeds; unknown values are empty */
    SH_EXPORT_JSON, /* a list of objects, one per line; unknown: null; malformed UTF-8: '?' */
} sh_export_format;

typedef struct sh_export_options {
    const char *run;   /* folder */
    const char *table; /* as in `shoal help runs`: "steps" */
    sh_export_format format;
    const char *path; /* replaced atomically unless it is a pipe; NULL: `out` */
    FILE *out;        /* the caller checks it for errors */
} sh_export_options;

/* Writes a table as text. The table "trace" is a timeline of the whole run, always in Chrome's
 * trace event format. SH_INVALID: unknown table; the message lists the tables. */
SHOAL_API sh_status sh_run_export(const sh_export_options *options) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
