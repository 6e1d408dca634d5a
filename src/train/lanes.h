/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a device: a team of threads, each with its own memory, all with the compiled
 * programs of one model.
 *
 *     SH_TRY(sh_lanes_new(&lanes, &options));
 *     sh_team_run(sh_lanes_team(lanes), work, context);
 *     ... in work(context, lane): sh_lanes_execution(lanes, lane, SH_MODEL_TRAIN, samples) ...
 *
 * A program is compiled for a number of samples. All that a job needs are compiled at the start, so
 * nothing is allocated inside a step.
 *
 * Threads: lookups from any lane; the rest: caller locks.
 */
#ifndef SHOAL_TRAIN_LANES_H
#define SHOAL_TRAIN_LANES_H

#include "backend/profiler.h"
#include "backend/program.h"
#include "base/team.h"
#include "data/dataset.h"
#include "model/model.h"
#include "train/footprint.h"

#define SH_LANES_MAX 1024

/* A program to be ready: for this mode and this many samples. */
typedef struct sh_lane_size {
    sh_model_mode mode;
    uint32_t samples;
} sh_lane_size;

typedef struct sh_lanes_options {
    sh_model_options model;
    const sh_kernels *kernels;
    float *const *parameters;  /* by tensor; borrowed until sh_lanes_free */
    float *const *const *own;  /* by lane: each computes with parameters of its own, and
                                  prepares them for itself; NULL: all with the above */
    uint64_t own_bytes;        /* that a lane holds beside its activations then */
    uint64_t spare_bytes;      /* that its thread holds beside them (train/samples.h) */
    uint32_t count;            /* lanes */
    const sh_lane_size *sizes; /* repeated ones and those of 0 samples are fine */
    size_t size_count;
    const sh_clock *clock; /* NULL: programs are not timed; borrowed until sh_lanes_free */
    const sh_clock *mark;  /* for sh_execution_mark; NULL: none. Borrowed likewise */
    uint64_t memory;       /* most bytes that the process may hold resident; 0: any number */
    sh_footprint
        held; /* resident already: weights, optimizer and sum; known to come: base and start */
} sh_lanes_options;

typedef struct sh_lanes sh_lanes;

/* What a data set asks of a model. */
sh_problem sh_lanes_problem(const sh_dataset_info *info);

/*
 * Where `memory` says so, activations are computed again (graph/recompute.h), then there are fewer
 * lanes than asked for; results have the same bits. SH_LIMIT says what is needed at the least.
 */
sh_status sh_lanes_new(sh_lanes **lanes, const sh_lanes_options *options) SHOAL_CHECKED;
void sh_lanes_free(sh_lanes *lanes);

/*
 * The graph that a program is compiled from: the model's, in training with values computed again in
 * so many segments (sh_footprint's); 0: as where no limit asks for less, the cheap ones. Owned.
 */
sh_status sh_lanes_graph(sh_graph **graph, const sh_model_options *model, sh_lane_size size,
                         uint32_t segments) SHOAL_CHECKED;

sh_team *sh_lanes_team(const sh_lanes *lanes);
uint32_t sh_lanes_count(const sh_lanes *lanes);

/* Bytes of all lanes' memory and of what they share. */
size_t sh_lanes_bytes(const sh_lanes *lanes);

/* All that the process holds once the lanes have run; borrowed until sh_lanes_free. */
const sh_footprint *sh_lanes_footprint(const sh_lanes *lanes);

/* Adds the times of all lanes' programs of this mode to a profile. */
sh_status sh_lanes_profile(const sh_lanes *lanes, sh_profile *profile, sh_model_mode mode,
                           sh_profile_level level) SHOAL_CHECKED;

/*
 * Program number `index` with its graph, where the lanes are timed; false behind the last. Both
 * are borrowed until sh_lanes_free.
 */
bool sh_lanes_program(const sh_lanes *lanes, size_t index, sh_lane_size *size,
                      const sh_program **program, const sh_graph **graph);

/*
 * A number that grows as long as lanes compute: instructions of all executions, and turns of the
 * team that were noted. Where it stands still, so do the lanes, or they wait. Any thread.
 */
uint64_t sh_lanes_progress(const sh_lanes *lanes);
void sh_lanes_note_turn(sh_lanes *lanes);

/* A lane begins and ends reading samples; whether any lane is reading now. Any thread. */
void sh_lanes_begin_reading(sh_lanes *lanes);
void sh_lanes_end_reading(sh_lanes *lanes);
bool sh_lanes_are_reading(const sh_lanes *lanes);

/* Whether the trainer's caller waits for other devices in a stage, as it says itself. Any thread.
 */
void sh_lanes_set_waiting(sh_lanes *lanes, bool waiting);
bool sh_lanes_are_waiting(const sh_lanes *lanes);

/* A lane's execution of one of the programs; NULL where the size was not announced. */
sh_execution *sh_lanes_execution(const sh_lanes *lanes, uint32_t lane, sh_model_mode mode,
                                 uint32_t samples);

#endif
