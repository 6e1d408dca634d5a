/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of local:H: makes the local steps of one outer step on one lane, starting with the
 * common weights, and returns the change of the weights.
 *
 *     SH_TRY(sh_worker_new(&worker, replica, &job));             // once per lane
 *     sh_worker_begin(worker);
 *     for each local batch of the worker's samples:
 *         for each grain of it: sh_execution_run(execution, sh_worker_add, worker);
 *         sh_worker_step(worker, rate);
 *     const float *values = sh_worker_contribution(worker, samples / all_samples);
 *     for each place in the sum:
 *         sh_sum_add(sum, place, number, values + sh_sum_first_element(sum, place));
 *
 * A step of the job is an *outer step*. It uses the next H * B samples of the epoch's order, where
 * B is --batch-size; the last outer step of an epoch may have fewer. The samples are divided into W
 * parts of ceil(samples / W), where W is --workers. The last part may be shorter, and there are
 * fewer parts if there are few samples. Worker w computes part w, on any device and lane. It
 * divides its samples into *local batches* of B / W (the last one may be smaller) and each local
 * batch into grains, like a batch of sync. So a full outer step has H local steps. With one worker,
 * these are the steps of sync.
 *
 *     gradient     of the mean loss over the local batch: its grains' gradients, added up as floats
 *                  in the order of the grains
 *     clipping     by the norm of that gradient, for each worker separately (--clip-norm)
 *     update       the job's optimizer with its weight decay. In every outer step, its state
 *                  starts at zero and n of its bias corrections at 1
 *     rate         that of the local step, numbered like the steps of sync, so --schedule and
 *                  --warmup mean the same epochs and fractions
 *     statistics   each worker updates its own from its local batches
 *     frozen       weights are the replica's
 *
 * A worker adds (before - after) times its part of the samples to the exact sum; for statistics it
 * adds `after` times that part. The sum of weights is therefore the change of the workers' mean
 * weights, weighted by samples. It is the gradient for the outer optimizer (sh_job_outer): SGD with
 * --outer-lr and --outer-momentum (Nesterov), whose momentum is part of the replica. The sum of
 * statistics is their mean and replaces the replica's. With learning rate 1 and no momentum, the
 * new weights are the mean of the workers' weights (FedAvg, arXiv 1602.05629; with momentum DiLoCo,
 * arXiv 2311.08105).
 *
 * Results depend only on the job and the replica. Threads: one lane at a time.
 */
#ifndef SHOAL_TRAIN_WORKER_H
#define SHOAL_TRAIN_WORKER_H

#include "train/replica.h"

typedef struct sh_worker sh_worker;

/* Bytes of a worker: weights that are not frozen, their gradient and the optimizer's state. */
uint64_t sh_worker_bytes(const sh_replica *replica, const sh_job *job);

/* `replica` is borrowed until sh_worker_free. The job is complete and has local steps. */
sh_status sh_worker_new(sh_worker **worker, const sh_replica *replica,
                        const sh_job *job) SHOAL_CHECKED;
void sh_worker_free(sh_worker *worker); /* NULL is fine */

/* The worker's weights by tensor, for programs; borrowed until sh_worker_free. */
float *const *sh_worker_parameters(const sh_worker *worker);

/* Starts an outer step: copies the replica's weights and clears all other state. */
void sh_worker_begin(sh_worker *worker);

/* The gradient sink (backend/program.h); `context` is the worker. Every grain adds each
 * tensor once. */
void sh_worker_add(void *context, uint32_t tensor, const sh_gradient *gradient);

/* Makes one local step with the gradients added since the previous one. */
void sh_worker_step(sh_worker *worker, double rate);

/* The worker's addends to the exact sum, in the sum's layout; borrowed until the next call. `part`
 * is the worker's fraction of the step's samples. Call sh_worker_begin before the next use. */
const float *sh_worker_contribution(sh_worker *worker, double part);

#endif
