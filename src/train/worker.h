/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of local:H, on the lane that computes it: from the common weights it makes the local
 * steps of one outer step by itself, and tells how far they have led.
 *
 *     SH_TRY(sh_worker_new(&worker, replica, &job));             // once a lane
 *     sh_worker_begin(worker);
 *     for each local batch of the worker's samples:
 *         for each grain of it: sh_execution_run(execution, sh_worker_add, worker);
 *         sh_worker_step(worker, rate);
 *     const float *values = sh_worker_contribution(worker, samples / all_samples);
 *     for each place in the sum:
 *         sh_sum_add(sum, place, number, values + sh_sum_first_element(sum, place));
 *
 * A step of the job is an *outer step*. It takes the next H * B samples of the epoch's order (B
 * --batch-size; the last one of an epoch what is left). They fall into W parts of ceil(samples / W)
 * (the last one may be short, and where there are few samples there are fewer parts): part w is
 * worker w's, in whichever place it is computed. A worker takes its samples B / W at a time, a
 * *local batch* each (the last one may be short), which falls into grains as a batch of sync does.
 * So a full outer step has H local steps, and with one worker they are those of sync.
 *
 *     gradient     of the mean loss over the local batch: those of its grains, added up as floats
 *                  in their order
 *     clipping     by the norm of that gradient, worker by worker (--clip-norm)
 *     update       the job's optimizer with its weight decay. Its state begins at zero in every
 *                  outer step, and n of its bias corrections at 1
 *     rate         that of the local step, counted as the steps of sync are: --schedule and
 *                  --warmup mean the same epochs and fractions
 *     statistics   the worker's own follow its local batches
 *     frozen       weights are the replica's
 *
 * What it adds to the exact sum is (before - after) times its part of the samples, of statistics
 * `after` times that part. So the sum is how far the weights' mean over all workers, weighted by
 * samples, has moved: the "gradient" of the outer optimizer (sh_job_outer), SGD with --outer-lr and
 * --outer-momentum (Nesterov), whose momentum is the replica's state; and the mean of the
 * statistics, which the replica takes over. With learning rate 1 and no momentum the weights become
 * the mean of the workers' (FedAvg, arXiv 1602.05629; with momentum DiLoCo, arXiv 2311.08105).
 *
 * All of it depends on the job and the replica alone. Threads: one lane at a time.
 */
#ifndef SHOAL_TRAIN_WORKER_H
#define SHOAL_TRAIN_WORKER_H

#include "train/replica.h"

typedef struct sh_worker sh_worker;

/* Bytes that it holds when it is at work: weights, a gradient and the optimizer's state, as far as
 * steps change them. */
uint64_t sh_worker_bytes(const sh_replica *replica, const sh_job *job);

/* `replica` is borrowed until sh_worker_free. The job is complete and has local steps. */
sh_status sh_worker_new(sh_worker **worker, const sh_replica *replica,
                        const sh_job *job) SHOAL_CHECKED;
void sh_worker_free(sh_worker *worker); /* NULL is fine */

/* Its weights by tensor, for programs; borrowed until sh_worker_free. */
float *const *sh_worker_parameters(const sh_worker *worker);

/* Takes the replica's weights; nothing else is left of what was before. */
void sh_worker_begin(sh_worker *worker);

/* The gradient sink (backend/program.h), `context` is the worker: every tensor once a grain. */
void sh_worker_add(void *context, uint32_t tensor, const sh_gradient *gradient);

/* One local step with what was added since the last one. */
void sh_worker_step(sh_worker *worker, double rate);

/* What it contributes, laid out as the sum; borrowed until the next call. `part` is that of its
 * samples in all. The worker has to begin again. */
const float *sh_worker_contribution(sh_worker *worker, double part);

#endif
