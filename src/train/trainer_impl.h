/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the trainer's files share: trainer.c has the steps, stage.c the turns up to the reduction.
 *
 *     SH_TRY(sh_stage_reduce(trainer, part));     // trainer->batch, mode and todo are set
 *
 * Threads: as train/trainer.h; what lanes call says so.
 */
#ifndef SHOAL_TRAIN_TRAINER_IMPL_H
#define SHOAL_TRAIN_TRAINER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/order.h"
#include "data/prefetch.h"
#include "train/factors.h"
#include "train/norm.h"
#include "train/rate.h"
#include "train/trainer.h"
#include "train/updates.h"
#include "train/worker.h"

#define SH_STAGE_ATTEMPTS 32 /* redos in a row, after which something is wrong with the sum */

struct sh_trainer {
    sh_job job;
    const sh_pipeline *pipeline;
    sh_prefetch *prefetch; /* of the coming steps' samples */
    sh_replica *replica;
    sh_lanes *lanes;
    sh_schedule schedule;
    sh_worker **workers; /* by lane; NULL where there are none: then grains are shared out */
    uint32_t worker_count;
    sh_updates *updates; /* NULL where devices do not train apart */
    sh_schedule local;   /* of local steps, which rates follow; the same without workers */
    sh_rate rate;
    sh_order order; /* of epoch `order_epoch` */
    uint32_t order_epoch;
    sh_trainer_work work;
    sh_stopwatch watch;     /* of the steps; off without any clock */
    bool profiled;          /* instructions are timed too */
    sh_stopwatch *watching; /* the above, or one that is off while it is no step */
    sh_stopwatch off;
    const sh_clock *pace_clock;
    void (*on_times)(void *context, const sh_step_times *times);
    sh_pace pace;
    void (*on_passed)(void *context, const sh_stage_outcome *outcome);
    void *context;

    sh_span spans[SH_ENGINE_MAX_SPANS]; /* the buckets, factors if any, then the trailer */
    uint32_t span_count;
    sh_factors *factors;  /* NULL where gradients alone travel */
    bool gathering;       /* in the stage under way: factors in place of some gradients */
    uint32_t gathered;    /* grains of others, of which factors are here */
    bool shared;          /* the spans' totals lie apart from the own parts */
    uint32_t *bucket_of;  /* by place in the sum (train/replica.h), as what else is by tensor */
    atomic_uint *left;    /* by bucket, then of factors: additions that this device still owes */
    atomic_uint *max_abs; /* by tensor: largest |integer| of the reduced sum */
    float *scales;        /* by tensor: of the stage */
    sh_squares *squares;  /* by lane and tensor, of the reduced sum; where gradients are clipped */

    sh_grain_list held;        /* in the own part of the sum */
    sh_position held_at;       /* the stage that they are of */
    uint32_t redone, repeated; /* attempts at this step, calibration apart; all but the last */
    uint64_t check;            /* of the replica, in the last stage that compared it */

    /* The turn under way. */
    const sh_part *part;
    sh_model_mode mode;
    uint64_t number; /* of the step, since the job began */
    sh_batch batch;
    const sh_sum_totals *carried; /* into the trailer, from before; NULL: nothing */
    sh_grain_list todo;           /* grains to compute */
    uint64_t local_step;          /* since the job began, before the step's first */
    double lr;                    /* of this step; of its first local one */
    sh_replica_step step;
    atomic_uint next;           /* of `todo`, or of what was gathered, to take */
    atomic_ullong partial;      /* sum of the lanes' checks */
    atomic_ullong lane_busy_ns; /* sum of what the lanes took to compute */

    pthread_mutex_t lock; /* guards the two below */
    sh_status failure;    /* the first one of any lane */
    char message[SH_MESSAGE_BYTES];
};

/*
 * Computes the grains of `todo` and adds all up with everybody's: the trailer, and in training the
 * buckets before it. In training they are added to what is held, and are held themselves from then
 * on, whether the reduction succeeds or not; where reading them fails nothing is held any more.
 */
sh_status sh_stage_reduce(sh_trainer *trainer, const sh_part *part) SHOAL_CHECKED;

/* Sets the spans to where own part and total are. */
void sh_stage_aim_spans(sh_trainer *trainer);

/* With other devices the total lies apart from the own part. */
sh_status sh_stage_share_sum(sh_trainer *trainer, const sh_engine *engine) SHOAL_CHECKED;

/* One turn of the team. */
void sh_stage_take_turn(sh_trainer *trainer, sh_team_task *task);

/* The part of `total` elements that is a lane's: [*first, *end). Any lane. */
void sh_stage_lane_range(const sh_trainer *trainer, uint32_t lane, size_t total, size_t *first,
                         size_t *end);

/* Fills the execution's inputs for the samples at these positions of the epoch; in training with
 * what it needs to know of each beside itself. Any lane. */
sh_status sh_stage_read_samples(const sh_trainer *trainer, sh_execution *execution,
                                sh_range range) SHOAL_CHECKED;

/* `weight` is the gradient of each sample's loss: 1 / the samples of its batch. */
void sh_stage_weigh_samples(const sh_trainer *trainer, sh_execution *execution, sh_range range,
                            float weight);

/* The samples that lane 0 would take first of all in this step: a grain. */
sh_range sh_stage_first_grain(const sh_trainer *trainer);

/* ---- of a step (trainer.c) ------------------------------------------------------------------- */

/* Makes ready for step `number` since the job began: batch, order, learning rate. */
void sh_step_begin_batch(sh_trainer *trainer, uint64_t number);

/* Reads the scales of the sum, before it is judged; the factor that brings the gradient within the
 * job's norm. */
void sh_step_read_scales(sh_trainer *trainer);
double sh_step_clip_factor(sh_trainer *trainer);

/* The elements of a tensor within [first, end): [*from, *to), or false. */
bool sh_step_tensor_range(const sh_sum *sum, uint32_t tensor, size_t first, size_t end,
                          size_t *from, size_t *to);

/* Whether all replicas are as this one; where not, nobody applies or believes what was summed. */
sh_status sh_step_compare_replicas(const sh_trainer *trainer, const sh_part *part) SHOAL_CHECKED;

/* Takes the samples of `count` steps from `from` on into the account of their epoch; the replica's
 * position is behind them. Like the next, under the replica's lock. */
void sh_step_count(sh_trainer *trainer, uint64_t from, uint32_t count, const sh_sum_totals *totals);

/* The step under way is applied as number `step`, with so much of this device's own work. */
void sh_step_take_times(sh_trainer *trainer, sh_step_times *times, uint64_t step, uint64_t grains,
                        uint64_t samples);

/* Tells of a stage that all have come through. */
void sh_step_tell_passed(const sh_trainer *trainer, const sh_stage_outcome *outcome);

sh_status sh_step_fail_not_finite(const sh_trainer *trainer, uint32_t tensor) SHOAL_CHECKED;
sh_status sh_step_fail_attempts(const sh_trainer *trainer) SHOAL_CHECKED;

#endif
