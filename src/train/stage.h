/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage up to its reduction: a device computes its units of a batch and adds them up with
 * everybody's. A *unit* is what one lane computes at a time and what devices share: a grain, or
 * with local:H a worker. The strategy (train/strategy_ops.h) says what a unit is.
 *
 *     stage->task.mode = SH_MODEL_TRAIN; ... number, batch, order, todo ...
 *     SH_TRY(sh_stage_reduce(stage, part));
 *     ... sh_sum_verdict(stage->replica->sum, &tensor) ...
 *
 * Part of the trainer (train/trainer.h): steps and strategies include it, nobody else.
 *
 * Threads: the trainer's caller, which is lane 0; where any lane may call, it is said.
 */
#ifndef SHOAL_TRAIN_STAGE_H
#define SHOAL_TRAIN_STAGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/order.h"
#include "train/trainer.h"

struct sh_strategy_ops;

/* A strategy at work: the head of every strategy's own struct. */
typedef struct sh_strategy_state {
    const struct sh_strategy_ops *ops;
} sh_strategy_state;

/* What is to be computed; set before sh_stage_reduce. */
typedef struct sh_stage_task {
    sh_model_mode mode;
    uint64_t number; /* of the step, since the job began */
    sh_batch batch;
    sh_order order; /* of epoch `order_epoch` */
    uint32_t order_epoch;
    sh_ranges todo;               /* units to compute */
    const sh_sum_totals *carried; /* into the trailer, from before; NULL: nothing. Borrowed */
} sh_stage_task;

/* What travels. */
typedef struct sh_stage_spans {
    sh_span items[SH_ENGINE_MAX_SPANS]; /* the buckets, what a strategy adds, then the trailer */
    uint32_t count;
    uint32_t owed[SH_ENGINE_MAX_SPANS];    /* additions to a span by each unit */
    atomic_uint left[SH_ENGINE_MAX_SPANS]; /* additions that this device still owes in this stage */
    uint32_t *bucket_of;                   /* by place in the sum (train/replica.h); owned */
} sh_stage_spans;

/* The turn under way. */
typedef struct sh_stage_turn {
    atomic_uint next;           /* of what lanes take one by one */
    atomic_ullong partial;      /* sum of the lanes' checks */
    atomic_ullong lane_busy_ns; /* sum of what the lanes took to compute */
    pthread_mutex_t lock;       /* guards the two below */
    sh_status failure;          /* the first one of any lane */
    char message[SH_MESSAGE_BYTES];
} sh_stage_turn;

typedef struct sh_stage_times {
    sh_stopwatch watch;     /* of the steps; off without any clock */
    sh_stopwatch off;       /* always off */
    sh_stopwatch *watching; /* one of the two: validation is not timed */
    const sh_clock *pace_clock;
    sh_pace pace;
} sh_stage_times;

typedef struct sh_stage {
    const sh_job *job; /* these four are borrowed */
    const sh_pipeline *pipeline;
    sh_replica *replica;
    sh_lanes *lanes; /* NULL while the trainer is being made */
    sh_schedule schedule;
    sh_strategy_state plain, *strategy; /* never NULL: `plain` where it needs nothing of its own */
    float *class_weights;               /* by class, or NULL; owned */
    sh_class_index *classes;            /* of balanced sampling, or NULL; owned */
    float *spare;                       /* of samples that are mixed (samples.h), or NULL; owned */
    bool shared;                        /* the spans' totals lie apart from the own parts */
    const sh_part *part;                /* of the stage under way */
    sh_ranges held;                     /* units in the own part of the sum */
    sh_position held_at;                /* the stage that they are of */
    uint64_t check;  /* of the replica and its exponents, in the last stage that compared it */
    bool not_finite; /* the last stage's sum has numbers that are not */
    bool said;       /* the own trailer has the check of the replica as it stands */
    sh_stage_task task;
    sh_stage_spans spans;
    sh_stage_turn turn;
    struct sh_gpus *gpus; /* train/gpus.h, owned; NULL: none */
    sh_stage_times times;
    void (*on_answers)(void *context, const sh_answers *answers); /* of a validation, or NULL */
    void *context;
} sh_stage;

/* The first four members and the schedule are set. */
sh_status sh_stage_init(sh_stage *stage) SHOAL_CHECKED;
void sh_stage_release(sh_stage *stage);

/*
 * Computes the units of `todo` and adds them up with all devices': the trailer, and in training the
 * buckets before it. In training they join the held units, whether the reduction succeeds or not;
 * if reading them fails, nothing is held any more.
 */
sh_status sh_stage_reduce(sh_stage *stage, const sh_part *part) SHOAL_CHECKED;

/* Drops what is held: the next stage begins with an empty sum. */
void sh_stage_forget(sh_stage *stage);

/* Sets the total apart from the own part if there are other devices. */
sh_status sh_stage_share_sum(sh_stage *stage, const sh_engine *engine) SHOAL_CHECKED;

/* Sets the spans to buckets and trailer, where own part and total are. */
void sh_stage_aim_spans(sh_stage *stage);

/* One turn of the team. */
void sh_stage_take_turn(sh_stage *stage, sh_team_task *task, void *context);

/* The first failure of a lane since the stage began. */
sh_status sh_stage_status(const sh_stage *stage) SHOAL_CHECKED;

/* ---- any lane -------------------------------------------------------------------------------- */

/* The part of `total` elements that is a lane's: [*first, *end). */
void sh_stage_lane_range(const sh_stage *stage, uint32_t lane, size_t total, size_t *first,
                         size_t *end);

/* The elements of a tensor within [first, end): [*from, *to), or false. */
bool sh_stage_tensor_range(const sh_sum *sum, uint32_t tensor, size_t first, size_t end,
                           size_t *from, size_t *to);

/* Keeps the first failure and lets the other lanes run out of units. */
void sh_stage_note_failure(sh_stage *stage, sh_status status);

/* Prepares every program that the grains of a batch need; `lanes` that share what is prepared
 * divide the work: all, or 1. */
sh_status sh_stage_prepare(const sh_stage *stage, uint32_t lane, uint32_t lanes,
                           const sh_batch *batch) SHOAL_CHECKED;

/* Runs forward and backward for these samples of a batch of `batch`. Gradients go to the sink. */
sh_status sh_stage_compute_samples(sh_stage *stage, uint32_t lane, sh_range range, uint32_t batch,
                                   sh_gradient_sink *sink, void *context) SHOAL_CHECKED;

/* Adds a tensor's gradient of a unit to the own part of the sum. */
void sh_stage_add(sh_stage *stage, uint32_t lane, uint32_t unit, uint32_t tensor,
                  const sh_gradient *part, sh_sum_parts *until_now);

/* Counts additions to a span; the last one tells the engine that the span is ready. */
void sh_stage_pay(sh_stage *stage, uint32_t span, uint32_t paid);

#endif
