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

typedef struct sh_job {
    char model[SH_MODEL_BYTES]; /* built-in name with parameters: "lenet", "mlp:784-128-10" */
    char data[SH_DATA_BYTES];   /* "digits", "mnist:DIR" or a folder */
    uint64_t seed;
    uint32_t batch_size; /* samples of one step, over all devices */
    uint32_t grain;      /* samples of one unit of work; 0: chosen from the batch size */
    uint32_t epochs;
    uint64_t steps; /* ends the job after so many steps in all; 0: after `epochs` */
    float lr;
    float momentum;
    float weight_decay;
    uint32_t wire; /* bits of a summed gradient element: 32 */
} sh_job;

/* The defaults: seed 1, batch 64, 10 epochs, learning rate 0.01, momentum 0.9, no decay, wire 32.
 */
SHOAL_API void sh_job_init(sh_job *job);

/*
 * Fills what was left to be chosen (grain) and checks every field by itself. SH_INVALID names the
 * option and what it may be. The model and the data are checked when they are opened.
 */
SHOAL_API sh_status sh_job_complete(sh_job *job) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
