/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every device has an equal copy of: the weights, the optimizer's state, the exact sum with
 * its exponents, and the job's position.
 *
 *     SH_TRY(sh_replica_new(&replica, &job, &problem));      // at the job's start: step 0
 *     SH_TRY(sh_replica_hash(replica, hash));
 *     sh_replica_free(replica);
 *
 * Threads: caller locks. If other threads read it during training (train/transfer.h), every reader
 * or writer of weights, slots, exponents, position, epoch, best or the total's memory holds
 * sh_replica_lock. The step's thread and its lanes read without the lock, because only they write.
 */
#ifndef SHOAL_TRAIN_REPLICA_H
#define SHOAL_TRAIN_REPLICA_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/digest.h"
#include "base/position.h"
#include "model/model.h"
#include "shoal/job.h"
#include "train/best.h"
#include "train/exact_sum.h"
#include "train/optimizer.h"

#define SH_FROZEN UINT32_MAX

/* Of the current epoch so far, over all devices. */
typedef struct sh_epoch_totals {
    double loss;             /* summed over samples */
    uint64_t samples, score; /* train/score.h */
} sh_epoch_totals;

typedef struct sh_replica {
    sh_graph *graph;           /* for names and shapes; owned */
    const sh_network *network; /* of an imported model; borrowed */
    uint32_t tensors;
    size_t weight_count;
    float *weights;     /* those in the exact sum, in its order, then the frozen ones; owned */
    float **parameters; /* by tensor, into `weights`; owned */
    const sh_optimizer *optimizer; /* of sh_job_outer */
    sh_optimizer_settings settings;
    bool takes_statistics; /* local:H: running statistics are set from the sum */
    uint32_t slot_count;
    float *slots[SH_OPTIMIZER_MAX_SLOTS]; /* in the sum's layout; owned */
    sh_sum *sum;                          /* of all tensors that are not frozen */
    uint32_t summed;                      /* tensors in the sum */
    size_t summed_count;                  /* and their weights */
    uint32_t *tensor_of;                  /* by place in the sum; owned */
    uint32_t *place_of;                   /* place in the sum by tensor, SH_FROZEN if none; owned */
    uint64_t steps; /* applied since the job's start; with `phase` the position */
    uint32_t phase; /* base/position.h */
    sh_epoch_totals epoch;
    sh_best best;
    pthread_mutex_t lock;
} sh_replica;

/* Borrows the job's texts and the network (NULL for a built-in model). */
sh_model_options sh_replica_model(const sh_job *job, const sh_problem *problem,
                                  const sh_network *network);

/* Makes a replica of the job's start; the job is complete (sh_job_complete). SH_INVALID says what
 * is wrong with the model. */
sh_status sh_replica_new(sh_replica **replica, const sh_job *job,
                         const sh_problem *problem) SHOAL_CHECKED;

/* The same with an imported model's `network`, borrowed until sh_replica_free, or NULL. */
sh_status sh_replica_new_with(sh_replica **replica, const sh_job *job, const sh_problem *problem,
                              const sh_network *network) SHOAL_CHECKED;
void sh_replica_free(sh_replica *replica);

/* SHA-256 over each tensor's name, shape and bits, in order. */
sh_status sh_replica_hash(const sh_replica *replica, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/* Borrowed from the replica. */
const char *sh_replica_tensor_name(const sh_replica *replica, uint32_t tensor);
const sh_type *sh_replica_tensor_type(const sh_replica *replica, uint32_t tensor);

static inline sh_position sh_replica_position(const sh_replica *replica)
{
    return (sh_position){replica->steps, replica->phase};
}

/* Results of stages. Sent over the network: never renumber. */
typedef enum sh_passed {
    SH_PASSED_NOTHING = 1,  /* begins a stream of train/transfer.h */
    SH_PASSED_APPLY = 2,    /* one more step */
    SH_PASSED_REDO = 3,     /* one more attempt: exponents changed */
    SH_PASSED_VALIDATE = 4, /* weights and exponents are unchanged */
    SH_PASSED_ABORT = 5,    /* the stage, or the validation before it, starts again: its sums are
                               void */
    SH_PASSED_LAP = 6,      /* more steps of devices that train apart (train/strategy_laps.c) */
} sh_passed;

void sh_replica_lock(sh_replica *replica);
void sh_replica_unlock(sh_replica *replica);

/* False if another thread still holds the lock after this time. */
bool sh_replica_lock_within(sh_replica *replica, uint32_t limit_ms);

/* The check of all weights and exponents (train/weight_check.h). */
uint64_t sh_replica_check(const sh_replica *replica);

/* The momentum of a running statistic (train/statistic.h). */
float sh_replica_momentum(const sh_replica *replica, uint32_t tensor);

/* What an update depends on besides the sums; the same on all devices. */
typedef struct sh_replica_step {
    sh_optimizer_step numbers;
    const float *scales; /* by place: sh_sum_scale during the step; borrowed */
} sh_replica_step;

/*
 * Applies a step to elements from .. to - 1 of weights and slots. Disjoint ranges, in any order and
 * on any threads, make up the update. `sums` is a total in sh_sum_total's layout, read only within
 * the range; max_abs[place] is raised to the largest |integer| (NULL: not wanted). Exponents,
 * position and epoch are unchanged.
 */
void sh_replica_update(sh_replica *replica, const sh_replica_step *step, size_t from, size_t to,
                       const void *sums, atomic_uint *max_abs);

/* The same for other arrays: weights, then slots, in the sum's layout. */
void sh_replica_update_arrays(const sh_replica *replica, float *const *arrays,
                              const sh_replica_step *step, size_t from, size_t to, const void *sums,
                              atomic_uint *max_abs);

/* Writes the address of each tensor if `weights`, in the sum's layout, replaces the replica's;
 * frozen tensors remain the replica's. */
void sh_replica_place(const sh_replica *replica, float *weights, float **parameters);

void sh_replica_raise_max(atomic_uint *shared, uint32_t value);

void sh_replica_initialise(sh_replica *replica, uint64_t seed);

#endif
