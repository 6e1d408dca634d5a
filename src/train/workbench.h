/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything a device needs to work on a job: data, kernels, replica, trainer.
 *
 *     SH_TRY(sh_workbench_open(&bench, &job, NULL));               // data and replica
 *     ... load or receive the replica's state ...
 *     SH_TRY(sh_workbench_start(bench, lanes, 0));                 // compile
 *     sh_workbench_close(bench);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_WORKBENCH_H
#define SHOAL_TRAIN_WORKBENCH_H

#include "model/choice.h"
#include "train/figures.h"
#include "train/flip.h"
#include "train/recipe.h"
#include "train/trainer.h"

typedef struct sh_workbench {
    sh_job job;
    sh_model_choice choice; /* empty if the job names its model */
    sh_recipe recipe;       /* likewise */
    sh_pipeline *pipeline;
    char *trained; /* the facts of the training data (data/trained.h), for checkpoints; NULL: too
                      long, or the caller passed a data set; owned */
    sh_network *network; /* of an imported model, else NULL; this bench holds a reference */
    const sh_kernels *kernels;
    sh_replica *replica;
    sh_scale scale;        /* of the model's outputs */
    sh_trainer *trainer;   /* after sh_workbench_start */
    bool evaluate_only;    /* set before sh_workbench_start: no training */
    sh_flip flip;          /* for tests */
    const sh_clock *clock; /* times the steps; NULL, as opened: no timing */
    const uint32_t *gpus;  /* numbers of GPUs that train too; set before sh_workbench_start, which
                              borrows them for the call */
    uint32_t gpu_count;

    /* For work with other devices, as in sh_trainer_options; set before sh_workbench_start. */
    bool shared;
    void (*on_passed)(void *context, const sh_stage_outcome *outcome);
    void (*on_times)(void *context, const sh_step_times *times); /* likewise */
    void (*on_answers)(void *context, const sh_answers *answers);
    void *context;
} sh_workbench;

/* The network and the data that a job only names. All zero: a built-in model, and data read from
 * where the job says. */
typedef struct sh_workbench_data {
    sh_network *network;       /* of an imported model; the bench takes a reference */
    sh_dataset *dataset;       /* ownership passes to the bench, also on failure; NULL: */
    const char *spec;          /* opens this; NULL: what the job names */
    const sh_job_given *given; /* options that the user gave, for SH_MODEL_AUTO; NULL: those that
                                  differ from defaults */

    /* Interpret the data as the training set of these facts; NULL: by their own statistics.
     * Borrowed for the call. */
    const struct sh_trained *trained;

    /* Progress of packing, in samples; called on the calling thread. */
    void (*on_packing)(void *context, uint64_t packed, uint64_t samples);
    void *context;
} sh_workbench_data;

/*
 * Opens the data and makes the replica of the job's start. `data` may be NULL. The job is complete
 * (sh_job_complete); if its model is SH_MODEL_AUTO, the bench's job has the chosen model and a
 * recipe for it, which `choice` and `recipe` explain.
 */
sh_status sh_workbench_open(sh_workbench **bench, const sh_job *job,
                            const sh_workbench_data *data) SHOAL_CHECKED;

/*
 * Compiles for `lanes` lanes (0: all cores; with GPUs: only those that feed GPUs), or for fewer to
 * keep the process below `memory` bytes (0: no limit). SH_LIMIT says how much is needed.
 */
sh_status sh_workbench_start(sh_workbench *bench, uint32_t lanes, uint64_t memory) SHOAL_CHECKED;

/* Prepares the replica to continue with other devices: if the job is over, only the last validation
 * is repeated. */
void sh_workbench_reopen(const sh_workbench *bench);

/* Applies changed on_... functions and their context after the start. Not in a stage. */
void sh_workbench_hear(const sh_workbench *bench);

/* Floating-point operations that training on one sample takes: forward and backward, a multiply-add
 * counts as two. 0: the graph could not be built. Builds the graph, which takes milliseconds. */
double sh_workbench_sample_flops(const sh_workbench *bench);

/* NULL is fine. */
void sh_workbench_close(sh_workbench *bench);

#endif
