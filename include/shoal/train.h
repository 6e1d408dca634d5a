/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains on this device, and on others that join, and reports the progress.
 *
 *     sh_train_options options;
 *     sh_train_options_init(&options);
 *     options.job = job;
 *     options.devices = 3;
 *     sh_summary summary;
 *     sh_status status = sh_train(&options, &summary);
 *     printf("%.2f %% %s\n", 100 * summary.val_accuracy, summary.weights_hash);
 *     sh_summary_release(&summary);
 *
 * Threads: any, also several calls at once. A call blocks and calls its observer on its thread,
 * except with SH_EVENT_HUNG. sh_stop_request: any thread and signal handlers.
 */
#ifndef SHOAL_TRAIN_H
#define SHOAL_TRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shoal/job.h"
#include "shoal/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_NAME_BYTES 64
#define SH_HASH_BYTES 65
#define SH_RUN_BYTES 1024

/* Asks a call to end at the next step. */
typedef struct sh_stop sh_stop;

SHOAL_API sh_status sh_stop_new(sh_stop **stop) SHOAL_CHECKED;
SHOAL_API void sh_stop_request(sh_stop *stop); /* async-signal-safe */
SHOAL_API void sh_stop_free(sh_stop *stop);

typedef enum sh_event_kind {
    SH_EVENT_TOKEN,      /* the job is open; text: the join token */
    SH_EVENT_RUN,        /* text: the run's folder */
    SH_EVENT_JOINED,     /* a device is ready; text: its name; devices: their number */
    SH_EVENT_STARTED,    /* training begins; devices, steps of an epoch, first epoch and step */
    SH_EVENT_STEP,       /* a step was applied */
    SH_EVENT_EPOCH,      /* an epoch was validated */
    SH_EVENT_CHECKPOINT, /* text: the written file */
    SH_EVENT_NOTE,       /* text: a message for the user */
    SH_EVENT_PACKING,    /* packing the data: `step` of `epoch_steps` samples */
    SH_EVENT_HUNG, /* the call does not end after a stop request; text: why and what was saved;
                      total_step: its step. On its own thread, which nothing joins: the program
                      should exit, the call may not return */
} sh_event_kind;

/* Fields that do not apply are zero. Text is borrowed until the observer returns. */
typedef struct sh_event {
    sh_event_kind kind;
    const char *text;
    uint32_t devices;
    uint32_t epoch, epochs;     /* epoch counts from 1 */
    uint64_t step, epoch_steps; /* within the epoch, from 1 */
    uint64_t total_step;        /* applied since the job began */
    uint64_t total_steps;       /* of the whole job */
    uint64_t samples;           /* of the epoch so far, on all devices */
    double seconds;             /* since training began in this call */
    double samples_per_second;  /* recently */
    double loss, accuracy;      /* training: mean of the epoch so far; accuracy is 0 .. 1 */
    double val_loss, val_accuracy;
    bool numbers;         /* numbers are predicted: mae counts, accuracies are NaN */
    double mae, val_mae;  /* mean absolute errors */
    double lr, step_loss; /* of this step, with lr_find */
} sh_event;

typedef void sh_observer(void *context, const sh_event *event);

#define SH_BYTES_UNKNOWN UINT64_MAX

typedef struct sh_device_report {
    char name[SH_NAME_BYTES];
    uint64_t grains, samples;
    double cpu_seconds;
    uint64_t peak_rss_bytes;
    uint64_t bytes_sent,
        bytes_received; /* on the wire, encrypted; SH_BYTES_UNKNOWN with engine "mpi" */
} sh_device_report;

typedef struct sh_summary {
    char model[SH_MODEL_BYTES];
    char data[SH_DATA_BYTES];
    uint32_t wire; /* bits per summed gradient */
    uint64_t parameters;
    uint32_t epochs;      /* completed since the job began */
    uint64_t steps;       /* since the job began */
    uint64_t epoch_steps; /* of an epoch */
    uint64_t first_steps; /* applied before this call */
    uint64_t samples;     /* trained on in this call */
    double train_seconds; /* of this call, with validation and checkpoints */
    double samples_per_second;
    double train_loss;                /* mean of the last epoch; NaN before the first step */
    double val_loss, val_accuracy;    /* NaN before the first validation */
    bool numbers;                     /* numbers are predicted: val_mae counts, not val_accuracy */
    double val_mae;                   /* mean absolute error */
    char monitor[SH_MONITOR_BYTES];   /* the figure that determines the best epoch */
    uint32_t best_epoch;              /* from 1; 0: no validation */
    uint64_t best_steps;              /* since the job began */
    double best_value;                /* of `monitor`; NaN without one */
    bool stopped_early;               /* by --patience */
    char last_file[SH_RUN_BYTES];     /* the newest checkpoint, or "" */
    char best_file[SH_RUN_BYTES];     /* of the best epoch; "" if not in this run */
    char weights_hash[SH_HASH_BYTES]; /* SHA-256 of names, shapes and bits of all weights */
    uint64_t peak_rss_bytes;          /* of the device with the most */
    uint64_t planned_bytes;           /* of this device, estimated before the first step */
    uint64_t redone_steps; /* steps recomputed because a gradient exceeded its exponent */
    uint32_t views;
    char run[SH_RUN_BYTES];
    sh_device_report *devices; /* owned */
    size_t device_count;
    sh_profile profile; /* of this device's steps; empty if not requested; owned */

    /* The figures of the weights as JSON, as sh_eval (shoal/eval.h) would measure them in this run;
     * NULL: not measured. Owned. */
    char *metrics;
} sh_summary;

SHOAL_API void sh_summary_release(sh_summary *summary);

/* The job, the device's rows of shoal/options.def, and settings of the calling program. */
typedef struct sh_train_options {
    sh_job job;
    sh_job_given given; /* used with `resume`, and with the model "auto", which sets the others */
#define SH_DEVICE_OPTION(kind, member, ...) SH_OPTION_TYPE_##kind member;
#include "shoal/options.def"
    const char *program; /* for local devices; NULL: this program */
    sh_profile_level profile;
    sh_stop *stop; /* optional */
    sh_observer *observer;
    void *context;
} sh_train_options;

SHOAL_API void sh_train_options_init(sh_train_options *options);

/* Checks a text that selects cores ("4") or GPUs and cores ("gpu:0,cpu:4"). SH_INVALID: malformed.
 * NULL: all cores. */
SHOAL_API sh_status sh_lanes_check(const char *lanes) SHOAL_CHECKED;

/* Checks combinations of options without opening anything. SH_INVALID: the message names the
 * option. */
SHOAL_API sh_status sh_train_options_check(const sh_train_options *options) SHOAL_CHECKED;

/*
 * Checks the options and sets derived ones: job.batch_size and, without `resume`, those of
 * sh_job_complete. SH_INVALID: the message names the option. SH_UNSUPPORTED: the build lacks a
 * part. sh_train calls it itself.
 */
SHOAL_API sh_status sh_train_options_complete(sh_train_options *options) SHOAL_CHECKED;

/*
 * Trains until the job ends: SH_OK. SH_STOPPED: on request; SH_PEER_LOST: a device was lost; both
 * write a checkpoint and fill the summary. Other failures keep the last checkpoint and leave the
 * summary empty. SH_DIVERGED: devices have different weights, and no majority shows which are
 * right. SH_ABORTED: this device cannot take the right ones.
 */
SHOAL_API sh_status sh_train(const sh_train_options *options, sh_summary *summary) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
