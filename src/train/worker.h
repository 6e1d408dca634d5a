/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of local:H: makes the local steps of one outer step on one lane, starting with the
 * common weights, and returns the change of the weights.
 *
 *     sh_worker_begin(worker);
 *     for each local batch of the worker's samples:
 *         for each grain of it: sh_execution_run(execution, sh_worker_add, worker);
 *         sh_worker_step(worker, rate);
 *     const float *values = sh_worker_contribution(worker, samples / all_samples);
 *
 * A step of the job is an *outer step*. It uses the next H * B samples of the epoch's order (B is
 * --batch-size), fewer at an epoch's end, divided into W (--workers) parts of ceil(samples / W).
 * The last part may be shorter, and there are fewer parts if there are few samples. Worker w
 * computes part w, on any device and lane, in *local batches* of B / W (the last one may be
 * smaller), each divided into grains, like a batch of sync. With one worker, the H local steps are
 * the steps of sync.
 *
 *     gradient     of the mean loss over the local batch: its grains' gradients, added up as floats
 *                  in the order of the grains
 *     clipping     by the norm of that gradient, for each worker separately (--clip-norm)
 *     update       the job's optimizer with its weight decay. In every outer step, its state
 *                  starts at zero and n of its bias corrections at 1
 *     rate         that of the local step, numbered like the steps of sync
 *     statistics   each worker updates its own from its local batches
 *     frozen       weights are the replica's
 *
 * A worker adds (before - after), or `after` for statistics, times its part of the samples to the
 * exact sum. The sum of weights is the gradient for the outer optimizer (sh_job_outer): SGD with
 * --outer-lr and --outer-momentum (Nesterov), whose momentum is part of the replica. The sum of
 * statistics replaces the replica's. With learning rate 1 and no momentum, the new weights are the
 * mean of the workers' weights (FedAvg, arXiv 1602.05629; with momentum DiLoCo, arXiv 2311.08105).
 *
 * Results depend only on the job and the replica.
 *
 * Threads: one lane at a time.
 */
#ifndef SHOAL_TRAIN_WORKER_H
#define SHOAL_TRAIN_WORKER_H

#include "train/replica.h"

typedef struct sh_worker sh_worker;

/* Counts weights that are not frozen, their gradient and the optimizer's state. */
uint64_t sh_worker_bytes(const sh_replica *replica, const sh_job *job);

/* `replica` is borrowed until sh_worker_free. The job is complete and has local steps. */
sh_status sh_worker_new(sh_worker **worker, const sh_replica *replica,
                        const sh_job *job) SHOAL_CHECKED;
void sh_worker_free(sh_worker *worker);

/* The worker's weights by tensor, for programs; borrowed until sh_worker_free. */
float *const *sh_worker_parameters(const sh_worker *worker);

/* Starts an outer step: copies the replica's weights and clears all other state. */
void sh_worker_begin(sh_worker *worker);

/* The gradient sink (backend/program.h); `context` is the worker. Every grain adds each tensor
 * once. */
void sh_worker_add(void *context, uint32_t tensor, const sh_gradient *gradient);

/* Uses the gradients added since the previous local step. */
void sh_worker_step(sh_worker *worker, double rate);

/* The worker's addends to the exact sum, in the sum's layout; borrowed until the next call. `part`
 * is the worker's fraction of the step's samples. Call sh_worker_begin before the next use. */
const float *sh_worker_contribution(sh_worker *worker, double part);

#endif
