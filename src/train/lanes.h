/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a device: a team of threads with the compiled programs of one model. Each thread has
 * its own memory.
 *
 *     SH_TRY(sh_lanes_new(&lanes, &options));
 *     sh_team_run(sh_lanes_team(lanes), work, context);
 *     ... in work(context, lane): sh_lanes_execution(lanes, lane, SH_MODEL_TRAIN, samples) ...
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

typedef struct sh_lane_size {
    sh_model_mode mode;
    uint32_t samples;
} sh_lane_size;

/* All lanes compute with `parameters` or, if `own` is set, each with its own parameters, which it
 * prepares itself. */
typedef struct sh_lanes_options {
    sh_model_options model;
    const sh_kernels *kernels;
    float *const *parameters; /* by tensor; borrowed until sh_lanes_free */
    float *const *const *own; /* by lane, or NULL; borrowed until sh_lanes_free */
    uint64_t own_bytes;       /* per lane: state of `own` beside the activations */
    uint64_t spare_bytes;     /* per lane: memory of its thread (train/samples.h) */
    uint32_t count;
    const sh_lane_size *sizes; /* duplicates and entries with 0 samples are ignored */
    size_t size_count;
    const sh_clock *clock; /* NULL: programs are not timed; borrowed until sh_lanes_free */
    const sh_clock *mark;  /* for sh_execution_mark, or NULL. Borrowed until sh_lanes_free */
    uint64_t memory;       /* most bytes that the process may hold resident; 0: unlimited */
    sh_footprint
        held; /* already resident: weights, optimizer and sum; expected later: base and start */
} sh_lanes_options;

typedef struct sh_lanes sh_lanes;

sh_problem sh_lanes_problem(const sh_dataset_info *info);

/*
 * To stay within `memory`, recomputes activations (graph/recompute.h), then uses fewer lanes.
 * Results have the same bits. SH_LIMIT states the smallest amount that suffices.
 */
sh_status sh_lanes_new(sh_lanes **lanes, const sh_lanes_options *options) SHOAL_CHECKED;
void sh_lanes_free(sh_lanes *lanes);

/*
 * The graph that a program is compiled from, in training with values recomputed in `segments`
 * segments (from sh_footprint). 0: only cheap values are recomputed, as without a memory limit.
 * `*graph` is owned.
 */
sh_status sh_lanes_graph(sh_graph **graph, const sh_model_options *model, sh_lane_size size,
                         uint32_t segments) SHOAL_CHECKED;

sh_team *sh_lanes_team(const sh_lanes *lanes);
uint32_t sh_lanes_count(const sh_lanes *lanes);

/* Bytes of all lanes' memory and prepared weights. */
size_t sh_lanes_bytes(const sh_lanes *lanes);

/* The memory of the whole process once the lanes have run; borrowed until sh_lanes_free. */
const sh_footprint *sh_lanes_footprint(const sh_lanes *lanes);

/* Adds the times of all lanes' programs with this mode. */
sh_status sh_lanes_profile(const sh_lanes *lanes, sh_profile *profile, sh_model_mode mode,
                           sh_profile_level level) SHOAL_CHECKED;

/*
 * Program number `index`, and its graph if the lanes are timed, otherwise NULL. False if there is
 * no such program. Both are borrowed until sh_lanes_free.
 */
bool sh_lanes_program(const sh_lanes *lanes, size_t index, sh_lane_size *size,
                      const sh_program **program, const sh_graph **graph);

/*
 * A number that grows while lanes compute: executed instructions plus noted turns of the team. If
 * it does not grow, the lanes are stuck or waiting. Any thread.
 */
uint64_t sh_lanes_progress(const sh_lanes *lanes);
void sh_lanes_note_turn(sh_lanes *lanes);

/* A lane begins and ends reading samples; whether any lane is reading now. Any thread. */
void sh_lanes_begin_reading(sh_lanes *lanes);
void sh_lanes_end_reading(sh_lanes *lanes);
bool sh_lanes_are_reading(const sh_lanes *lanes);

/* Whether the trainer's caller, which sets it, waits for other devices in a stage. Any thread. */
void sh_lanes_set_waiting(sh_lanes *lanes, bool waiting);
bool sh_lanes_are_waiting(const sh_lanes *lanes);

/* While set, runs of the lanes' programs fail with SH_ABORTED. Any thread. */
void sh_lanes_interrupt(sh_lanes *lanes, bool interrupted);

/* NULL if no program has this mode and size. Borrowed until sh_lanes_free. */
sh_execution *sh_lanes_execution(const sh_lanes *lanes, uint32_t lane, sh_model_mode mode,
                                 uint32_t samples);

#endif
