/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of one training: its job, log, metrics, checkpoints and summary.
 *
 *     sh_run *run;
 *     SH_TRY(sh_run_open(&run, &(sh_run_options){.model = "lenet", .data = "digits", .now = now}));
 *     SH_TRY(sh_run_write_json(run, SH_RUN_JOB, job));
 *     SH_TRY(sh_run_append_line(run, SH_RUN_METRICS, "{\"epoch\": 1}"));
 *     sh_run_close(run);
 *
 * While it is open its file `lock` is locked, so two programs never write one run.
 *
 * Threads: any for sh_run_path, sh_run_checkpoints and sh_run_log_sink; the caller locks the rest.
 */
#ifndef SHOAL_STORE_RUN_H
#define SHOAL_STORE_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

#include "base/fail.h"
#include "base/log.h"
#include "store/file.h"

/* What lies in a run's folder. A folder with a job in it is a run. */
#define SH_RUN_JOB "job.json"
#define SH_RUN_EVENTS "events.log"
#define SH_RUN_METRICS "metrics.jsonl" /* one JSON object a line, one line an epoch */
#define SH_RUN_SUMMARY "summary.json"
#define SH_RUN_FIGURES "metrics.json"      /* of the best weights (node/record/assessment.h) */
#define SH_RUN_WORST "worst.csv"           /* the samples with the largest losses, likewise */
#define SH_RUN_PICTURES "worst.json"       /* of some of them (node/record/worst_pictures.h) */
#define SH_RUN_ONNX "model.onnx"           /* the best weights at the end, for other programs, */
#define SH_RUN_WEIGHTS "model.safetensors" /* likewise (node/job/handover.h) */
#define SH_RUN_DATABASE "run.db" /* store/schema.h; with "-wal" and "-shm" while it is open */
#define SH_RUN_LOCK "lock"
#define SH_RUN_TOKEN "token"         /* the job's join token while it runs, for its owner alone */
#define SH_RUN_TOKEN_KEY "token.key" /* and the key that proves who coordinates it */
#define SH_RUN_DOORS "doors" /* where its devices listen, likewise (node/coordinator/doors.h) */
#define SH_RUN_REQUEST "hand-over" /* for another device to coordinate (node/job/bequest.h), */
#define SH_RUN_ANSWER "hand-over.answer"     /* and what came of it */
#define SH_RUN_NETWORK "model.skeleton.onnx" /* of an imported model (onnx/network.h) */
#define SH_RUN_CHECKPOINTS "checkpoints"

typedef struct sh_run_options {
    const char *path; /* the folder; NULL: a new one, ROOT/<model>-<data>-<YYYYmmdd-HHMMSS>[-n] */
    const char *root; /* NULL: "runs" */
    const char *model, *data; /* for the name of a new one, made of safe characters */
    time_t now;               /* the same, in local time */
    bool resume;              /* `path` must hold a run; otherwise nothing, or one without a
                                 checkpoint, which begins again */
} sh_run_options;

typedef struct sh_run sh_run;

/*
 * Opens and locks a run's folder and removes what a stopped program left half written; the options
 * are borrowed during the call, `*run` is owned: close it. SH_REFUSED where another program has it
 * open (its number is in the message), or where the folder holds something else, or a run that was
 * not to be resumed, or where a file in it is a symbolic link (the folder itself may be one);
 * SH_NOT_FOUND where there is no run to resume; SH_INVALID where it is a file.
 */
sh_status sh_run_open(sh_run **run, const sh_run_options *options) SHOAL_CHECKED;

/* Unlocks it. NULL is fine. */
void sh_run_close(sh_run *run);

/* Whether a program has the run in this folder open. Only looks: no attempt to lock fails by it. */
bool sh_run_is_open(const char *folder);

/* The folder, and its folder of checkpoints for store/checkpoint.h; borrowed until close. */
const char *sh_run_folder(const sh_run *run);
const char *sh_run_checkpoints(const sh_run *run);

/* The path of a file in it; `name` has no slash. */
sh_status sh_run_path(const sh_run *run, const char *name, char path[SH_PATH_BYTES]) SHOAL_CHECKED;

/* Replaces a file by the printed `json` (borrowed), atomically. */
sh_status sh_run_write_json(const sh_run *run, const char *name, const json_t *json) SHOAL_CHECKED;

/* Appends a line without its newline, whole or not at all. */
sh_status sh_run_append_line(const sh_run *run, const char *name, const char *line) SHOAL_CHECKED;

/*
 * A sink for a tap of the log that appends to the run's events; `run` is the sh_run, which must
 * stay open until the tap is removed. A line that cannot be written is dropped: a full disk must
 * not end a training because of its log.
 */
void sh_run_log_sink(void *run, sh_log_level level, const char *line);

#endif
