/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a training on this device, and reports its progress.
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
 * Threads: each call blocks and may be made from any thread, several at once; observers are called
 * on the calling thread, except with SH_EVENT_HUNG. sh_stop_request: any thread, and signal
 * handlers.
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

/* Asks a running call to end at the next step. */
typedef struct sh_stop sh_stop;

SHOAL_API sh_status sh_stop_new(sh_stop **stop) SHOAL_CHECKED;
SHOAL_API void sh_stop_request(sh_stop *stop); /* async-signal-safe */
SHOAL_API void sh_stop_free(sh_stop *stop);

typedef enum sh_event_kind {
    SH_EVENT_TOKEN,      /* the job is open: text is the join token */
    SH_EVENT_RUN,        /* the run's folder: text */
    SH_EVENT_JOINED,     /* a device is ready: text is its name; devices counts them */
    SH_EVENT_STARTED,    /* training begins; devices, steps of an epoch, first epoch and step */
    SH_EVENT_STEP,       /* a step was applied */
    SH_EVENT_EPOCH,      /* an epoch was validated */
    SH_EVENT_CHECKPOINT, /* written: text is the file */
    SH_EVENT_NOTE,       /* something worth a line: text */
    SH_EVENT_PACKING,    /* data are made into a packed set: `step` of `epoch_steps` samples */
    SH_EVENT_HUNG,       /* the call does not end after a request to stop: text says why and what
                            was saved, total_step of which step. On a thread of its own, which
                            nothing waits for: the program ends itself, the call may not return */
} sh_event_kind;

/* Fields that the kind does not speak of are zero. Text is borrowed until the observer returns. */
typedef struct sh_event {
    sh_event_kind kind;
    const char *text;
    uint32_t devices;
    uint32_t epoch, epochs;     /* epoch counts from 1 */
    uint64_t step, epoch_steps; /* step of the epoch, from 1 */
    uint64_t total_step;        /* steps applied since the job began */
    uint64_t total_steps;       /* of the whole job */
    uint64_t samples;           /* of the epoch so far, as the devices counted them together */
    double seconds;             /* since training began in this call */
    double samples_per_second;  /* of late */
    double loss, accuracy;      /* training: mean over the epoch so far; accuracy is 0 .. 1 */
    double val_loss, val_accuracy;
    bool numbers;         /* numbers are predicted: these count instead, the accuracies are NaN */
    double mae, val_mae;  /* mean absolute errors */
    double lr, step_loss; /* with lr_find: of this step alone */
} sh_event;

typedef void sh_observer(void *context, const sh_event *event);

#define SH_BYTES_UNKNOWN UINT64_MAX

typedef struct sh_device_report {
    char name[SH_NAME_BYTES];
    uint64_t grains, samples;
    double cpu_seconds;
    uint64_t peak_rss_bytes;
    uint64_t bytes_sent, bytes_received; /* on the wire, encryption included; SH_BYTES_UNKNOWN with
                                            engine "mpi", whose library does not say */
} sh_device_report;

typedef struct sh_summary {
    char model[SH_MODEL_BYTES];
    char data[SH_DATA_BYTES];
    uint32_t wire; /* bits of a summed gradient */
    uint64_t parameters;
    uint32_t epochs;      /* complete ones since the job began */
    uint64_t steps;       /* since the job began */
    uint64_t epoch_steps; /* of an epoch */
    uint64_t first_steps; /* those that were applied when this call began */
    uint64_t samples;     /* used for training in this call */
    double train_seconds; /* of this call, validation and checkpoints included */
    double samples_per_second;
    double train_loss;                /* mean of the last epoch; NaN before the first step */
    double val_loss, val_accuracy;    /* NaN before the first validation */
    bool numbers;                     /* are predicted: the next counts, not the accuracy */
    double val_mae;                   /* mean absolute error */
    char monitor[SH_MONITOR_BYTES];   /* what the best epoch is best by, as the job has it */
    uint32_t best_epoch;              /* counts from 1; 0: there was no validation */
    uint64_t best_steps;              /* since the job began */
    double best_value;                /* of `monitor`; NaN without one */
    bool stopped_early;               /* by --patience */
    char last_file[SH_RUN_BYTES];     /* the newest checkpoint; "" without one */
    char best_file[SH_RUN_BYTES];     /* that of the best epoch; "" where it is not in this run */
    char weights_hash[SH_HASH_BYTES]; /* SHA-256 over names, shapes and bits of all weights */
    uint64_t peak_rss_bytes;          /* the largest device's */
    uint64_t planned_bytes;           /* what was foreseen for this device before the first step */
    uint64_t redone_steps; /* steps computed again because a gradient outgrew its exponent */
    uint32_t views;
    char run[SH_RUN_BYTES];
    sh_device_report *devices; /* owned */
    size_t device_count;
    sh_profile profile; /* of this device's steps; without rows where none was asked for; owned */

    /* All figures of the weights that sh_eval would measure in this run, as JSON, the same that it
     * gives (shoal/eval.h); NULL where they were not measured. Owned. */
    char *metrics;
} sh_summary;

SHOAL_API void sh_summary_release(sh_summary *summary);

/* Beside the job: the rows of shoal/options.def that belong to the device, and what a program that
 * calls has to say. */
typedef struct sh_train_options {
    sh_job job;
    sh_job_given given; /* matters with `resume`, and with the model "auto", which fills the rest */
#define SH_DEVICE_OPTION(kind, member, ...) SH_OPTION_TYPE_##kind member;
#include "shoal/options.def"
    const char *program; /* what local devices run; NULL: this program */
    sh_profile_level profile;
    sh_stop *stop; /* optional */
    sh_observer *observer;
    void *context;
} sh_train_options;

SHOAL_API void sh_train_options_init(sh_train_options *options);

/* SH_INVALID where a text says not on what a device computes: cores ("4"), GPUs and cores
 * ("gpu:0,cpu:4"). NULL: all cores. */
SHOAL_API sh_status sh_lanes_check(const char *lanes) SHOAL_CHECKED;

/* What of the options does not go together, as far as can be said before anything is opened:
 * SH_INVALID names the option. sh_train refuses it too. */
SHOAL_API sh_status sh_train_options_check(const sh_train_options *options) SHOAL_CHECKED;

/*
 * Checks what goes together and fills what follows from what is given: job.batch_size, and without
 * `resume` what sh_job_complete fills. SH_INVALID names the option, SH_UNSUPPORTED what the build
 * lacks. sh_train does the same for itself.
 */
SHOAL_API sh_status sh_train_options_complete(sh_train_options *options) SHOAL_CHECKED;

/*
 * Trains until the job ends: SH_OK. SH_STOPPED after a request to stop, SH_PEER_LOST when a device
 * was lost: in both cases a checkpoint was written and the summary is filled. Other failures leave
 * the last checkpoint as it was and the summary empty: SH_DIVERGED where devices hold different
 * weights and no majority shows which are right, SH_ABORTED where this one cannot take them.
 */
SHOAL_API sh_status sh_train(const sh_train_options *options, sh_summary *summary) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
