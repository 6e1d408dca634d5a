/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage up to its reduction: a device computes its units of a batch and sums them with those of
 * all devices. A *unit* is what one lane computes at a time and what devices share: a grain or,
 * with local:H, a worker, as the strategy (train/strategy_ops.h) defines.
 *
 *     stage->task.mode = SH_MODEL_TRAIN; ... number, batch, order, todo ...
 *     SH_TRY(sh_stage_reduce(stage, part));
 *     ... sh_sum_verdict(stage->replica->sum, &tensor) ...
 *
 * Part of the trainer (train/trainer.h): only steps and strategies include it.
 *
 * Threads: the trainer's caller, which is lane 0, except where "any lane" is stated.
 */
#ifndef SHOAL_TRAIN_STAGE_H
#define SHOAL_TRAIN_STAGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/order.h"
#include "train/trainer.h"

struct sh_strategy_ops;

/* The first member of every strategy's own state. */
typedef struct sh_strategy_state {
    const struct sh_strategy_ops *ops;
} sh_strategy_state;

/* Set before sh_stage_reduce. */
typedef struct sh_stage_task {
    sh_model_mode mode;
    uint64_t number; /* of the step, from the job's start */
    sh_batch batch;
    sh_order order; /* of epoch `order_epoch` */
    uint32_t order_epoch;
    sh_ranges todo;               /* units to compute */
    const sh_sum_totals *carried; /* earlier totals for the trailer, or NULL. Borrowed */
} sh_stage_task;

typedef struct sh_stage_spans {
    sh_span items[SH_ENGINE_MAX_SPANS]; /* buckets, the strategy's spans, then the trailer */
    uint32_t count;
    uint32_t additions_per_unit[SH_ENGINE_MAX_SPANS];
    atomic_uint left[SH_ENGINE_MAX_SPANS]; /* outstanding additions of this device in this stage */
    uint32_t *bucket_of;                   /* by place in the sum (train/replica.h); owned */
} sh_stage_spans;

typedef struct sh_stage_turn {
    atomic_uint next;           /* the next item for any lane */
    atomic_ullong partial;      /* sum of the lanes' checks */
    atomic_ullong lane_busy_ns; /* sum of the lanes' computing times */
    pthread_mutex_t lock;       /* guards the two below */
    sh_status failure;          /* the first one of any lane */
    char message[SH_MESSAGE_BYTES];
} sh_stage_turn;

typedef struct sh_stage_times {
    sh_stopwatch watch;     /* off without a clock */
    sh_stopwatch off;       /* always off */
    sh_stopwatch *watching; /* one of these; validation is not timed */
    const sh_clock *pace_clock;
    sh_pace pace;
} sh_stage_times;

typedef struct sh_stage {
    const sh_job *job; /* borrowed, as the next three */
    const sh_pipeline *pipeline;
    sh_replica *replica;
    sh_lanes *lanes; /* NULL during sh_trainer_new */
    sh_schedule schedule;
    sh_strategy_state plain, *strategy; /* `plain` if it has no state; never NULL */
    float *class_weights;               /* by class, or NULL; owned */
    sh_class_index *classes;            /* of balanced sampling, or NULL; owned */
    float *spare;                       /* for mixed samples (samples.h), or NULL; owned */
    bool shared;                        /* totals have memory separate from the own parts */
    const sh_part *part;                /* of the current stage */
    sh_ranges held;                     /* units in the own part of the sum */
    sh_position held_at;                /* the stage of the held units */
    uint64_t check;                     /* of the replica and its exponents, when last compared */
    bool not_finite;                    /* the last stage's sum is not finite */
    bool check_sent;                    /* the own trailer has `check` */
    bool reduced; /* the last reduction completed; if not, an engine may write totals */
    sh_stage_task task;
    sh_stage_spans spans;
    sh_stage_turn turn;
    struct sh_gpus *gpus; /* train/gpus.h, owned; NULL: none */
    sh_stage_times times;
    void (*on_answers)(void *context, const sh_answers *answers); /* of a validation, or NULL */
    void *context;
} sh_stage;

/* The first four members and the schedule must be set. */
sh_status sh_stage_init(sh_stage *stage) SHOAL_CHECKED;
void sh_stage_release(sh_stage *stage);

/* Computes `todo` and sums with all devices: the trailer and, in training, the buckets before it.
 * In training the units are then held, even if the reduction fails; if reading samples fails, no
 * unit is held afterwards. */
sh_status sh_stage_reduce(sh_stage *stage, const sh_part *part) SHOAL_CHECKED;

/* Computes `todo` into an empty own part, keeps the total, and holds no unit. sh_stage_forget drops
 * held units: the next stage begins with an empty sum. */
sh_status sh_stage_recompute(sh_stage *stage) SHOAL_CHECKED;
void sh_stage_forget(sh_stage *stage);

/* Uses a separate total if there are other devices. */
sh_status sh_stage_share_sum(sh_stage *stage, const sh_engine *engine) SHOAL_CHECKED;

/* Points the spans at the buckets and trailers of own part and total. */
void sh_stage_bind_spans(sh_stage *stage);

void sh_stage_run_lanes(sh_stage *stage, sh_team_task *task, void *context);

/* The first failure of a lane since the stage began. */
sh_status sh_stage_status(const sh_stage *stage) SHOAL_CHECKED;

/* ---- any lane -------------------------------------------------------------------------------- */

/* A lane's part of `total` elements: [*first, *end). */
void sh_stage_lane_range(const sh_stage *stage, uint32_t lane, size_t total, size_t *first,
                         size_t *end);

/* The elements [*from, *to) of a tensor within [first, end); false if none. */
bool sh_stage_tensor_range(const sh_sum *sum, uint32_t tensor, size_t first, size_t end,
                           size_t *from, size_t *to);

/* Records the first failure and stops the other lanes after their current units. */
void sh_stage_note_failure(sh_stage *stage, sh_status status);

/* Prepares the programs of a batch's grains. `lanes` (all, or 1) divide the work. */
sh_status sh_stage_prepare(const sh_stage *stage, uint32_t lane, uint32_t lanes,
                           const sh_batch *batch) SHOAL_CHECKED;

/* Runs forward and backward; `batch` is the number of samples in the batch. */
sh_status sh_stage_compute_samples(sh_stage *stage, uint32_t lane, sh_range range, uint32_t batch,
                                   sh_gradient_sink *sink, void *context) SHOAL_CHECKED;

/* Adds to the own part of the sum. */
void sh_stage_add(sh_stage *stage, uint32_t lane, uint32_t unit, uint32_t tensor,
                  const sh_gradient *part, sh_sum_parts *until_now);

/* The last addition to a span marks it as ready for the engine. */
void sh_stage_count_additions(sh_stage *stage, uint32_t span, uint32_t additions);

#endif
