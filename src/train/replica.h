/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every device holds an equal copy of: the weights, the optimiser's state, the exact sum with
 * its exponents, and how far the job has come.
 *
 *     SH_TRY(sh_replica_new(&replica, &job, &problem));      // as the job begins: step 0
 *     SH_TRY(sh_replica_hash(replica, hash));
 *     sh_replica_free(replica);
 *
 * Threads: caller locks. Transparent: the trainer and snapshots work on its fields. Where others
 * read it while it trains (train/transfer.h), all who read or change weights, slots, exponents,
 * position, epoch, best or where the total is hold sh_replica_lock; but the step's thread and its
 * lanes read without it, because nobody else writes.
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

/* How the epoch under way has gone so far; over all devices. */
typedef struct sh_epoch_totals {
    double loss;             /* summed over samples */
    uint64_t samples, score; /* train/score.h */
} sh_epoch_totals;

typedef struct sh_replica {
    sh_graph *graph;           /* for the parameters' names and shapes; owned */
    const sh_network *network; /* of an imported model; borrowed */
    uint32_t tensors;
    size_t weight_count;
    float *weights;     /* those in the exact sum in its order, then the frozen ones; owned */
    float **parameters; /* by tensor, into `weights`; owned */
    const sh_optimizer *optimizer;  /* of sh_job_outer, as all that a step does */
    sh_optimizer_settings settings; /* of the optimizer */
    bool takes_statistics;          /* local:H: running statistics become what the sum has */
    uint32_t slot_count;
    float *slots[SH_OPTIMIZER_MAX_SLOTS]; /* optimiser's state, laid out as the sum; owned */
    sh_sum *sum;         /* of all tensors but the frozen ones, which no step changes */
    uint32_t summed;     /* tensors in the sum */
    size_t summed_count; /* and their weights */
    uint32_t *tensor_of; /* by place in the sum: the tensor; owned */
    uint32_t *place_of;  /* by tensor: its place in the sum, SH_FROZEN where it has none; owned */
    uint64_t steps;      /* applied since the job began; with `phase` the position */
    uint32_t phase;      /* base/position.h */
    sh_epoch_totals epoch;
    sh_best best;
    pthread_mutex_t lock;
} sh_replica;

/* The model of a job; borrows its texts, and the network, which is NULL for a built-in model. */
sh_model_options sh_replica_model(const sh_job *job, const sh_problem *problem,
                                  const sh_network *network);

/* A replica as the job begins; the job is complete (sh_job_complete). SH_INVALID says what is wrong
 * with the model. */
sh_status sh_replica_new(sh_replica **replica, const sh_job *job,
                         const sh_problem *problem) SHOAL_CHECKED;

/* The same where the model may be an imported one; `network` is borrowed until sh_replica_free. */
sh_status sh_replica_new_with(sh_replica **replica, const sh_job *job, const sh_problem *problem,
                              const sh_network *network) SHOAL_CHECKED;
void sh_replica_free(sh_replica *replica);

/* SHA-256 over each tensor's name, shape and bits, in order. */
sh_status sh_replica_hash(const sh_replica *replica, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/* Name and type of a tensor; borrowed from the replica. */
const char *sh_replica_tensor_name(const sh_replica *replica, uint32_t tensor);
const sh_type *sh_replica_tensor_type(const sh_replica *replica, uint32_t tensor);

static inline sh_position sh_replica_position(const sh_replica *replica)
{
    return (sh_position){replica->steps, replica->phase};
}

/* What has become of the stage of a position: numbers on the wire, never renumber. */
typedef enum sh_passed {
    SH_PASSED_NOTHING = 1,  /* a stream of train/transfer.h begins */
    SH_PASSED_APPLY = 2,    /* a step more; a validation is due, or not */
    SH_PASSED_REDO = 3,     /* an attempt more: exponents have changed */
    SH_PASSED_VALIDATE = 4, /* neither weights nor exponents have changed */
    SH_PASSED_ABORT = 5,    /* it, or the validation before it, begins again: its sums are void */
    SH_PASSED_LAP = 6,      /* of devices that train apart (train/strategy_laps.c): steps more */
} sh_passed;

void sh_replica_lock(sh_replica *replica);
void sh_replica_unlock(sh_replica *replica);

/* As sh_replica_lock; false where somebody else still holds it after this time. */
bool sh_replica_lock_within(sh_replica *replica, uint32_t limit_ms);

/* The check of all its weights and exponents (train/weight_check.h). */
uint64_t sh_replica_check(const sh_replica *replica);

/* The momentum of a running statistic (train/statistic.h). */
float sh_replica_momentum(const sh_replica *replica, uint32_t tensor);

/* All that a step's update depends on beside the sums: the same on all devices. */
typedef struct sh_replica_step {
    sh_optimizer_step numbers;
    const float *scales; /* by place in the sum: sh_sum_scale as the step was computed; borrowed */
} sh_replica_step;

/*
 * Applies a step to the elements from .. to - 1 of weights and slots: its part of the one update
 * that there is, so ranges in any order and on any thread make the whole. `sums` is a total as
 * sh_sum_total lays it out, read within the range alone; max_abs[place] rises to the largest
 * |integer| seen (NULL: not wanted). Exponents, position and epoch stay as they are.
 */
void sh_replica_update(sh_replica *replica, const sh_replica_step *step, size_t from, size_t to,
                       const void *sums, atomic_uint *max_abs);

/* The same for arrays in place of the replica's: weights, then slots, laid out as the sum. */
void sh_replica_update_arrays(const sh_replica *replica, float *const *arrays,
                              const sh_replica_step *step, size_t from, size_t to, const void *sums,
                              atomic_uint *max_abs);

/* Writes parameters[tensor]: where each tensor lies if `weights`, laid out as the sum, replaces the
 * replica's; frozen tensors are the replica's. */
void sh_replica_place(const sh_replica *replica, float *weights, float **parameters);

/* Raises a shared maximum. */
void sh_replica_raise_max(atomic_uint *shared, uint32_t value);

/* Fills the weights as the job begins. */
void sh_replica_initialise(sh_replica *replica, uint64_t seed);

#endif
