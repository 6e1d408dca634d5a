/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device needs to work on a job: the data, the kernels, the replica, the trainer.
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
    sh_model_choice choice; /* "" where the job names its model, and so is the */
    sh_recipe recipe;       /* how it is trained */
    sh_pipeline *pipeline;
    char *trained; /* what the model knows of the data (data/trained.h), for checkpoints; NULL: it
                      is too long, or the data are somebody else's; owned */
    sh_network *network; /* of an imported model; else NULL; this bench is a user of it */
    const sh_kernels *kernels;
    sh_replica *replica;
    sh_scale scale;        /* of its figures */
    sh_trainer *trainer;   /* after sh_workbench_start */
    bool evaluate_only;    /* set before sh_workbench_start: nothing will be trained */
    sh_flip flip;          /* for tests */
    const sh_clock *clock; /* that steps are timed by; NULL, as opened: they are not */
    const uint32_t *gpus;  /* that train too, by number; set before sh_workbench_start, which
                              borrows them until it returns */
    uint32_t gpu_count;

    /* With other devices; set before sh_workbench_start, as sh_trainer_options has them. */
    bool shared;
    void (*on_passed)(void *context, const sh_stage_outcome *outcome);
    void (*on_times)(void *context, const sh_step_times *times); /* likewise */
    void (*on_answers)(void *context, const sh_answers *answers);
    void *context;
} sh_workbench;

/* What a job only names: its network and its data. Zero: the model is built in, and the job says
 * where the data are. */
typedef struct sh_workbench_data {
    sh_network *network; /* of an imported model; the bench becomes a user of it */
    sh_dataset *dataset; /* taken over (owned), also on failure; NULL: */
    const char *spec;    /* what this names; NULL: what the job names */
    const sh_job_given
        *given; /* what of the job is no default, for SH_MODEL_AUTO; NULL: what differs */

    /* Read them as these were; NULL: by their own figures. Borrowed during the call. */
    const struct sh_trained *trained;

    /* Samples that are made into a packed set, so far and in all; on the calling thread. */
    void (*on_packing)(void *context, uint64_t packed, uint64_t samples);
    void *context;
} sh_workbench_data;

/*
 * Opens the data and makes a replica as the job begins. `data` may be NULL. The job is complete
 * (sh_job_complete); where its model is SH_MODEL_AUTO, the bench's job has the one that was chosen
 * and a recipe for it; `choice` and `recipe` say what and why.
 */
sh_status sh_workbench_open(sh_workbench **bench, const sh_job *job,
                            const sh_workbench_data *data) SHOAL_CHECKED;

/*
 * Compiles for this many lanes (0: all cores; with GPUs: none but those that feed them), or for
 * fewer, so that the process stays below `memory` bytes (0: any number): SH_LIMIT says what it
 * takes.
 */
sh_status sh_workbench_start(sh_workbench *bench, uint32_t lanes, uint64_t memory) SHOAL_CHECKED;

/* Other devices will say how the replica goes on: where the job is over, all that is left to do is
 * the last validation, once more. */
void sh_workbench_reopen(const sh_workbench *bench);

/* The bench's functions for what happens with other devices, and their context, were changed since
 * it was started. Not in a stage. */
void sh_workbench_hear(const sh_workbench *bench);

/* NULL is fine. */
void sh_workbench_close(sh_workbench *bench);

#endif
