/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of one training: its job, log, metrics, checkpoints and summary.
 *
 * The file `lock` is locked while a run is open, so two programs never write the same run.
 *
 *     sh_run *run;
 *     SH_TRY(sh_run_open(&run, &(sh_run_options){.model = "lenet", .data = "digits", .now = now}));
 *     SH_TRY(sh_run_write_json(run, SH_RUN_JOB, job));
 *     SH_TRY(sh_run_append_line(run, SH_RUN_METRICS, "{\"epoch\": 1}"));
 *     sh_run_close(run);
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

/* A folder with a job is a run. */
#define SH_RUN_JOB "job.json"
#define SH_RUN_EVENTS "events.log"
#define SH_RUN_METRICS "metrics.jsonl" /* one JSON object per line, one line per epoch */
#define SH_RUN_SUMMARY "summary.json"
#define SH_RUN_FIGURES "metrics.json" /* of the best weights (node/record/assessment.h) */
#define SH_RUN_WORST "worst.csv"      /* the samples with the largest losses, from the same place */
#define SH_RUN_PICTURES "worst.json"  /* pictures of some (node/record/worst_pictures.h) */
#define SH_RUN_ONNX "model.onnx"      /* the best weights at the end, for other programs */
#define SH_RUN_WEIGHTS "model.safetensors" /* the same (node/job/final_model.h) */
#define SH_RUN_DATABASE "run.db" /* store/schema.h; with "-wal" and "-shm" while it is open */
#define SH_RUN_LOCK "lock"
#define SH_RUN_TOKEN "token"             /* the join token while the job runs; owner-only */
#define SH_RUN_TOKEN_KEY "token.key"     /* the key that proves who coordinates the job */
#define SH_RUN_ENDPOINTS "doors"         /* where its devices listen (node/member/endpoints.h) */
#define SH_RUN_REQUEST "hand-over"       /* asks for a successor (node/job/handover_request.h) */
#define SH_RUN_ANSWER "hand-over.answer" /* the result of the request */
#define SH_RUN_NETWORK "model.skeleton.onnx" /* of an imported model (onnx/network.h) */
#define SH_RUN_CHECKPOINTS "checkpoints"

typedef struct sh_run_options {
    const char *path;         /* NULL: a new folder, ROOT/<model>-<data>-<YYYYmmdd-HHMMSS>[-n] */
    const char *root;         /* NULL: "runs" */
    const char *model, *data; /* for the name; unsafe characters are replaced */
    time_t now;               /* for the name, in local time */
    bool resume;              /* true: `path` must be a run; false: empty, or a run without
                                 a checkpoint, which starts again */
} sh_run_options;

typedef struct sh_run sh_run;

/*
 * Removes incomplete files of a stopped program. The options are borrowed during the call. `*run`
 * is owned: close it. SH_NOT_FOUND: no run to resume. SH_INVALID: the path is a file. SH_REFUSED:
 * - another program has the run open (the message has its process number);
 * - the folder has other content, or a run that would have to be resumed;
 * - a file in the folder is a symbolic link. The folder itself may be one.
 */
sh_status sh_run_open(sh_run **run, const sh_run_options *options) SHOAL_CHECKED;

void sh_run_close(sh_run *run);

/* Returns whether any program has the run open. Takes no lock. */
bool sh_run_is_open(const char *folder);

/* Borrowed until close. */
const char *sh_run_folder(const sh_run *run);
const char *sh_run_checkpoints(const sh_run *run);

/* `name` has no slash. */
sh_status sh_run_path(const sh_run *run, const char *name, char path[SH_PATH_BYTES]) SHOAL_CHECKED;

/* Replaces a file atomically by the printed `json`, which is borrowed. */
sh_status sh_run_write_json(const sh_run *run, const char *name, const json_t *json) SHOAL_CHECKED;

/* As sh_file_append_line. */
sh_status sh_run_append_line(const sh_run *run, const char *name, const char *line) SHOAL_CHECKED;

/*
 * Appends to the run's events. `run` is the sh_run, which must stay open until the log tap is
 * removed. A line that cannot be written is dropped.
 */
void sh_run_log_sink(void *run, sh_log_level level, const char *line);

#endif
