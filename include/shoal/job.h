/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: everything that decides the weights, and nothing else. Two runs of one job end with the
 * same weights, whatever computed them.
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

#include <stdint.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_MODEL_BYTES 128
#define SH_DATA_BYTES 1024
#define SH_OPTIMIZER_BYTES 16
#define SH_SCHEDULE_BYTES 64
#define SH_AUGMENT_BYTES 64
#define SH_NORMALIZE_BYTES 16
#define SH_FREEZE_BYTES 256
#define SH_PRETRAINED_BYTES 65
#define SH_STRATEGY_BYTES 32

typedef struct sh_job {
    char model[SH_MODEL_BYTES]; /* built-in name with parameters: "lenet", "mlp:784-128-10" */
    char data[SH_DATA_BYTES];   /* "digits", "mnist:DIR", "cifar10:DIR", a folder */
    uint64_t seed;
    uint32_t batch_size; /* samples of one step, over all devices */
    uint32_t grain;      /* samples of one unit of work; 0: chosen from the batch size */
    uint32_t epochs;
    uint64_t steps; /* ends the job after so many steps in all; 0: after `epochs` */
    float lr;
    float momentum;
    float weight_decay;
    uint32_t wire; /* bits of a summed gradient element: 32, 16 or 8 */

    char optimizer[SH_OPTIMIZER_BYTES]; /* "sgd" */
    uint32_t nesterov;                  /* 1: Nesterov momentum */
    float beta1, beta2;                 /* Adam's: decay of the first and second moment */
    float alpha;                        /* RMSprop's: decay of the second moment */
    float epsilon;                      /* of Adam and RMSprop */
    char schedule[SH_SCHEDULE_BYTES];   /* of the learning rate: "constant", "cosine" */
    float warmup;                       /* epochs over which the learning rate rises from 0 */
    float clip_norm;                    /* largest norm of the gradient; 0: any */
    float label_smoothing;              /* part of a label that is spread over all classes */

    uint32_t resize;                    /* side of the images that the model sees; 0: as they are */
    char augment[SH_AUGMENT_BYTES];     /* list of crop, crop:N, flip; "": none */
    char normalize[SH_NORMALIZE_BYTES]; /* by the mean and deviation of "dataset", "imagenet" or
                                           "none" */

    char freeze[SH_FREEZE_BYTES];         /* parameters that stay as they are: globs with commas */
    char pretrained[SH_PRETRAINED_BYTES]; /* SHA-256 of the file that weights began with, or "" */

    char strategy[SH_STRATEGY_BYTES]; /* when devices synchronise: "sync", "ps-sync", "ps-async",
                                         "ps-bounded:2", "local:8" */
    uint32_t workers;                 /* of local:H, that train apart for H steps; 0: 4 of them */
    float outer_lr;       /* how far the weights follow what workers have come to; 1: all the way */
    float outer_momentum; /* Nesterov momentum of these steps */
} sh_job;

/*
 * The defaults: seed 1, batch 64, 10 epochs, sgd with learning rate 0.01 and momentum 0.9,
 * constant, no decay, wire 32, sync; no augmentation; of local:H, outer learning rate 1 without
 * momentum.
 */
SHOAL_API void sh_job_init(sh_job *job);

/*
 * Fills what was left to be chosen (grain, workers) and checks every field by itself. SH_INVALID
 * names the option and what it may be. The model and the data are checked when they are opened.
 */
SHOAL_API sh_status sh_job_complete(sh_job *job) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
