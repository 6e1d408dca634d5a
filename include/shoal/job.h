/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: exactly the options that determine the weights. All runs of a job end with the same
 * weights, on any devices.
 *
 *     sh_job job;
 *     sh_job_init(&job);
 *     snprintf(job.model, sizeof job.model, "lenet");
 *     snprintf(job.data, sizeof job.data, "mnist:/data/mnist");
 *     job.epochs = 8;
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_JOB_H
#define SHOAL_JOB_H

#include "shoal/options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_MODEL_BYTES 128
#define SH_DATA_BYTES 1024
#define SH_OPTIMIZER_BYTES 16
#define SH_SCHEDULE_BYTES 64
#define SH_AUGMENT_BYTES 256
#define SH_NORMALIZE_BYTES 16
#define SH_FREEZE_BYTES 256
#define SH_PRETRAINED_BYTES 65
#define SH_STRATEGY_BYTES 32
#define SH_CLASS_WEIGHTS_BYTES 4096
#define SH_TASK_BYTES 16
#define SH_FIT_BYTES 8
#define SH_COLUMNS_BYTES 256
#define SH_LABEL_FROM_BYTES 96
#define SH_MONITOR_BYTES 16
#define SH_SAMPLING_BYTES 16

/* The rows of shoal/options.def that belong to the job. */
typedef struct sh_job {
#define SH_JOB_TEXT(member, bytes, name, usual, study, ...) char member[bytes];
#define SH_JOB_NUMBER(kind, member, name, usual, study, ...) SH_OPTION_TYPE_##kind member;
#include "shoal/options.def"
} sh_job;

/* The members that the user has set; a resumed job takes the others from its checkpoint. */
typedef struct sh_job_given {
#define SH_JOB_TEXT(member, ...) bool member;
#define SH_JOB_NUMBER(kind, member, ...) bool member;
#include "shoal/options.def"
} sh_job_given;

/* Sets the defaults; model and data are empty. */
SHOAL_API void sh_job_init(sh_job *job);

/* Chooses grain and workers if they are open and checks all options. SH_INVALID: the message names
 * the option and its allowed values. Model and data are checked when they are opened. */
SHOAL_API sh_status sh_job_complete(sh_job *job) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
