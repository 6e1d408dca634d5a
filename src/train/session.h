/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything a device needs to work on a job: data, kernels, replica, trainer.
 *
 *     SH_TRY(sh_session_open(&session, &job, NULL));               // data and replica
 *     ... load or receive the replica's state ...
 *     SH_TRY(sh_session_start(session, lanes, 0));                 // compile
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_SESSION_H
#define SHOAL_TRAIN_SESSION_H

#include "model/choice.h"
#include "train/bit_flip.h"
#include "train/figures.h"
#include "train/recipe.h"
#include "train/trainer.h"

typedef struct sh_session {
    sh_job job;
    sh_model_choice choice; /* empty if the job names its model */
    sh_recipe recipe;       /* likewise */
    sh_pipeline *pipeline;
    char *trained; /* facts of the training data (data/trained.h), for checkpoints; NULL: too long,
                      or the caller passed a data set; owned */
    sh_network *network; /* of an imported model, else NULL; the session holds a reference */
    const sh_kernels *kernels;
    sh_replica *replica;
    sh_scale scale;
    sh_trainer *trainer;   /* after sh_session_start */
    bool evaluate_only;    /* set before sh_session_start: no training */
    sh_bit_flip flip;      /* for tests */
    const sh_clock *clock; /* times the steps; NULL, as opened: no timing */
    const uint32_t *gpus;  /* numbers of GPUs that train too; set before sh_session_start, which
                              borrows them for the call */
    uint32_t gpu_count;

    /* As in sh_trainer_options; set before sh_session_start. */
    bool shared;
    void (*on_passed)(void *context, const sh_stage_outcome *outcome);
    void (*on_times)(void *context, const sh_step_times *times);
    void (*on_answers)(void *context, const sh_answers *answers);
    void *context;
} sh_session;

/* All zero: a built-in model, and data read from where the job says. */
typedef struct sh_session_data {
    sh_network *network;       /* of an imported model; the session takes a reference */
    sh_dataset *dataset;       /* ownership passes to the session, also on failure; NULL: */
    const char *spec;          /* opens this; NULL: what the job names */
    const sh_job_given *given; /* options that the user gave, for SH_MODEL_AUTO; NULL: those that
                                  differ from defaults */

    /* Interpret the data as the training set of these facts; NULL: by their own statistics.
     * Borrowed for the call. */
    const struct sh_trained *trained;

    /* Progress of packing, in samples; on the calling thread. */
    void (*on_packing)(void *context, uint64_t packed, uint64_t samples);
    void *context;
} sh_session_data;

/*
 * Opens the data and makes the replica of the job's start. `data` may be NULL. The job is complete
 * (sh_job_complete); for SH_MODEL_AUTO, the session's job has the chosen model and recipe, which
 * `choice` and `recipe` explain.
 */
sh_status sh_session_open(sh_session **session, const sh_job *job,
                          const sh_session_data *data) SHOAL_CHECKED;

/*
 * Compiles for `lanes` lanes (0: all cores; with GPUs: only those that feed GPUs), or for fewer to
 * keep the process below `memory` bytes (0: no limit). SH_LIMIT says how much is needed.
 */
sh_status sh_session_start(sh_session *session, uint32_t lanes, uint64_t memory) SHOAL_CHECKED;

/* Prepares the replica to continue with other devices: if the job is over, only the last validation
 * is repeated. */
void sh_session_reopen(const sh_session *session);

/* Applies changed on_... functions and their context after the start. Not in a stage. */
void sh_session_set_callbacks(const sh_session *session);

/* Floating-point operations of training on one sample: forward and backward, a multiply-add counts
 * as two. 0: the graph could not be built. Takes milliseconds. */
double sh_session_sample_flops(const sh_session *session);

void sh_session_close(sh_session *session);

#endif
