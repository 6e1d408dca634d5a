/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs are compiled in a tier, which determines how much of the forward pass is recomputed, and
 * whether weights are prepared in advance or converted on demand. Under a limit, tiers are tried in
 * ascending order of their cost in time, first with all lanes, then with fewer. A tier whose graph
 * keeps too much alive is excluded without compiling. For the others, the lanes are set up without
 * touching their memory: resident memory plus the untouched blocks is the most that the process
 * will ever hold.
 */
#include "train/lanes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/live_bytes.h"
#include "graph/recompute.h"

sh_problem sh_lanes_problem(const sh_dataset_info *info)
{
    return (sh_problem){info->channels, info->height, info->width, info->outputs, info->target};
}

typedef struct lane_program {
    sh_lane_size size;
    sh_program *program;
    sh_graph *graph;           /* its source if the lanes are timed; otherwise NULL */
    sh_execution **executions; /* by lane */
} lane_program;

struct sh_lanes {
    const sh_kernels *kernels;
    sh_team *team;
    uint32_t count;
    lane_program *programs;
    size_t program_count;
    void **memory; /* by lane; shared by its programs */
    size_t memory_bytes;
    void **shared; /* by lane: prepared weights of all programs. One block for all lanes, or one per
                      lane if lanes have their own weights */
    uint32_t shared_count; /* distinct blocks */
    size_t shared_bytes;   /* of each block */
    sh_footprint footprint;
    atomic_uint_fast64_t turns;
    atomic_uint reading; /* lanes that read samples now */
    atomic_bool waiting, interrupted;
};

/* What the first steps touch beside the lanes' memory: stacks, the recorders (SQLite's pages, the
 * journal, the monitor), and their code, which is paged in again after sh_memory_trim. Measured:
 * 3.1 to 3.8 MiB. */
#define FIRST_STEPS_BYTES ((uint64_t)57 << 16)
#define SLACK_BYTES ((uint64_t)1 << 18)   /* margin below a limit */
#define THREAD_BYTES ((uint64_t)16 << 10) /* of a lane's stack */
#define CHEAP_ONLY 1                      /* as `segments`: recomputes element-wise values only */

/* Its memory is a lower bound until it is compiled. */
typedef struct tier {
    uint32_t segments;
    bool on_demand;
    size_t lane_bytes;
    size_t shared_bytes;
} tier;

/*
 * Tiers in ascending order of time: CHEAP_ONLY, CHEAP_ONLY with weights on demand, these segments,
 * these segments with weights on demand. Cheap values are recomputed even without a limit, because
 * fewer activations are read from outside the caches. On two cores with grains of 16, this made
 * MobileNetV2 9 % and ResNet-20 3 % faster.
 */
static const uint32_t cuts[] = {2, 3, 4, 6, 8, 12, 16};
enum { CUTS = sizeof cuts / sizeof *cuts, TIERS = 2 + 2 * CUTS };

static lane_program *find(const sh_lanes *lanes, sh_model_mode mode, uint32_t samples)
{
    for (size_t i = 0; i < lanes->program_count; i++) {
        lane_program *program = &lanes->programs[i];
        if (program->size.mode == mode && program->size.samples == samples)
            return program;
    }
    return NULL;
}

/* ---- programs -------------------------------------------------------------------------------- */

sh_status sh_lanes_graph(sh_graph **graph, const sh_model_options *model, sh_lane_size size,
                         uint32_t segments)
{
    sh_graph *fresh;
    SH_TRY(sh_model_build(&fresh, model, size.samples, size.mode));
    if (size.mode == SH_MODEL_TRAIN)
        sh_graph_recompute(fresh, segments == 0 ? CHEAP_ONLY : segments);
    const sh_status status = sh_graph_status(fresh);
    if (status != SH_OK) {
        sh_graph_free(fresh);
        return status;
    }
    *graph = fresh;
    return SH_OK;
}

static sh_status compile_all(sh_lanes *lanes, const sh_lanes_options *options, const tier *at)
{
    sh_prepared *prepared;
    sh_status status = SH_OK;
    SH_TRY(sh_prepared_new(&prepared, at->on_demand));
    for (size_t i = 0; i < options->size_count; i++) {
        const sh_lane_size size = options->sizes[i];
        lane_program *fresh = &lanes->programs[lanes->program_count];
        sh_graph *graph;
        if (size.samples == 0 || find(lanes, size.mode, size.samples) != NULL)
            continue;
        SH_TRY_DONE(sh_lanes_graph(&graph, &options->model, size, at->segments));
        status = sh_program_compile_with(&fresh->program, graph, lanes->kernels, prepared);
        if (status == SH_OK && options->clock != NULL)
            fresh->graph = graph;
        else
            sh_graph_free(graph);
        SH_TRY_DONE(status);
        lanes->program_count++;
        fresh->size = size;
        const size_t lane_bytes = sh_program_lane_bytes(fresh->program);
        if (lanes->memory_bytes < lane_bytes)
            lanes->memory_bytes = lane_bytes;
    }
done:
    lanes->shared_bytes = sh_prepared_bytes(prepared);
    sh_prepared_free(prepared);
    return status;
}

/* Undoes set_up, also after a failure halfway. */
static void tear_down(sh_lanes *lanes)
{
    for (size_t i = 0; i < lanes->program_count; i++) {
        lane_program *program = &lanes->programs[i];
        for (uint32_t j = 0; program->executions != NULL && j < lanes->count; j++)
            sh_execution_free(program->executions[j]);
        free(program->executions);
        sh_program_free(program->program);
        sh_graph_free(program->graph);
    }
    for (uint32_t i = 0; lanes->memory != NULL && i < lanes->count; i++) {
        sh_pages_free(lanes->memory[i], lanes->memory_bytes);
        lanes->memory[i] = NULL;
    }
    for (uint32_t i = 0; lanes->shared != NULL && i < lanes->shared_count; i++)
        sh_pages_free(lanes->shared[i], lanes->shared_bytes);
    if (lanes->programs != NULL)
        memset(lanes->programs, 0, lanes->program_count * sizeof *lanes->programs);
    lanes->program_count = lanes->memory_bytes = lanes->shared_bytes = lanes->count = 0;
    lanes->shared_count = 0;
}

static uint32_t blocks_of(const sh_lanes_options *options, uint32_t count)
{
    return options->own != NULL ? count : 1;
}

static sh_status set_up(sh_lanes *lanes, const sh_lanes_options *options, tier *at, uint32_t count)
{
    lanes->count = count;
    SH_TRY(compile_all(lanes, options, at));
    const uint32_t blocks = blocks_of(options, count);
    for (uint32_t i = 0; i < blocks; i++, lanes->shared_count++)
        SH_TRY(sh_pages_new(&lanes->shared[i], lanes->shared_bytes, "prepared weights"));
    for (uint32_t i = blocks; i < count; i++)
        lanes->shared[i] = lanes->shared[0];
    for (uint32_t i = 0; i < count; i++)
        SH_TRY(sh_pages_new(&lanes->memory[i], lanes->memory_bytes, "a lane's activations"));
    for (size_t i = 0; i < lanes->program_count; i++) {
        lane_program *program = &lanes->programs[i];
        program->executions = calloc(count, sizeof *program->executions);
        if (program->executions == NULL)
            return sh_fail_memory(count * sizeof *program->executions, "the lanes");
        for (uint32_t j = 0; j < count; j++) {
            sh_execution **execution = &program->executions[j];
            SH_TRY(sh_execution_new(execution, program->program, lanes->memory[j], lanes->shared[j],
                                    options->own != NULL ? options->own[j] : options->parameters));
            if (options->clock != NULL)
                SH_TRY(sh_execution_watch(*execution, options->clock));
            sh_execution_mark(*execution, options->mark);
            sh_execution_interrupt_by(*execution, &lanes->interrupted);
        }
    }
    at->lane_bytes = lanes->memory_bytes;
    at->shared_bytes = lanes->shared_bytes;

    sh_memory_trim();
    const sh_footprint *held = &options->held;
    const uint64_t resident = sh_process_rss_bytes();
    const uint64_t replica = held->weights + held->optimizer + held->sum;
    lanes->footprint = (sh_footprint){
        .base = held->base + FIRST_STEPS_BYTES + (resident > replica ? resident - replica : 0),
        .weights = held->weights,
        .optimizer = held->optimizer,
        .sum = held->sum,
        .prepared = lanes->shared_bytes * lanes->shared_count,
        .lane = lanes->memory_bytes,
        .own = options->own_bytes,
        .start = held->start,
        .thread = THREAD_BYTES + options->spare_bytes,
        .lanes = count,
        .lanes_asked = options->count,
        .segments = at->segments,
        .on_demand = at->on_demand,
    };
    return SH_OK;
}

/* ---- below a limit --------------------------------------------------------------------------- */

/* A lower bound of a lane's bytes, with grains of 1 / `part` of the size. */
static sh_status estimate(size_t *lane_bytes, const sh_lanes_options *options, uint32_t segments,
                          uint32_t part)
{
    *lane_bytes = 0;
    for (size_t i = 0; i < options->size_count; i++) {
        sh_graph *graph;
        sh_lane_size size = options->sizes[i];
        size_t bytes;
        size.samples = (size.samples + part - 1) / part;
        if (size.samples == 0)
            continue;
        SH_TRY(sh_lanes_graph(&graph, &options->model, size, segments));
        const sh_status status = sh_graph_live_bytes(&bytes, graph);
        sh_graph_free(graph);
        SH_TRY(status);
        if (*lane_bytes < bytes)
            *lane_bytes = bytes;
    }
    return SH_OK;
}

/* A lower bound; `base` is everything except the lanes. */
static uint64_t total_at(const tier *at, const sh_lanes_options *options, uint64_t base,
                         uint32_t count)
{
    return base + (uint64_t)at->shared_bytes * blocks_of(options, count) +
           ((uint64_t)at->lane_bytes + options->own_bytes + options->spare_bytes + THREAD_BYTES) *
               count;
}

static bool fits(const sh_lanes *lanes, const sh_lanes_options *options)
{
    return options->memory == 0 ||
           sh_footprint_total(&lanes->footprint) + SLACK_BYTES <= options->memory;
}

/* Returns SH_LIMIT with the needs of the present lanes and a smaller grain that would fit. */
static sh_status refuse(const sh_lanes *lanes, const sh_lanes_options *options, uint32_t segments)
{
    uint32_t grain = 0, smaller_grain = 0;
    uint64_t fits_bytes = 0;
    size_t whole, smaller;
    for (size_t i = 0; i < options->size_count; i++)
        if (options->sizes[i].samples > grain)
            grain = options->sizes[i].samples;
    SH_TRY(estimate(&whole, options, segments, 1));
    for (uint32_t part = 2; part <= grain && smaller_grain == 0; part *= 2) {
        SH_TRY(estimate(&smaller, options, segments, part));
        sh_footprint other = lanes->footprint;
        other.lane = (uint64_t)((double)other.lane * (double)smaller / (double)whole);
        fits_bytes = sh_footprint_total(&other);
        if (fits_bytes + SLACK_BYTES <= options->memory)
            smaller_grain = (grain + part - 1) / part;
    }
    return sh_footprint_refuse(&lanes->footprint, options->memory, grain, smaller_grain,
                               fits_bytes);
}

/* Sets up the first tier that fits within the limit. On entry, the lanes are in the first tier. */
static sh_status fit(sh_lanes *lanes, const sh_lanes_options *options)
{
    const sh_footprint *whole = &lanes->footprint;
    const uint64_t base = whole->base + whole->weights + whole->optimizer + whole->sum;
    tier tiers[TIERS] = {{CHEAP_ONLY, false, lanes->memory_bytes, lanes->shared_bytes},
                         {.segments = CHEAP_ONLY, .on_demand = true}};
    for (size_t i = 0; i < CUTS; i++) {
        tiers[2 + i] = (tier){.segments = cuts[i]};
        tiers[2 + CUTS + i] = (tier){.segments = cuts[i], .on_demand = true};
    }
    for (size_t i = 1; i < TIERS; i++) {
        SH_TRY(estimate(&tiers[i].lane_bytes, options, tiers[i].segments, 1));
        tiers[i].shared_bytes = tiers[i].on_demand ? 0 : lanes->shared_bytes;
    }
    for (uint32_t count = options->count; count > 0; count--)
        for (size_t i = 0; i < TIERS; i++) {
            if (total_at(&tiers[i], options, base, count) > options->memory)
                continue;
            tear_down(lanes);
            SH_TRY(set_up(lanes, options, &tiers[i], count));
            if (fits(lanes, options))
                return SH_OK;
        }
    /* The last resort is the smallest tier with one lane. */
    tier *least = &tiers[0];
    for (size_t i = 0; i < TIERS; i++)
        if (total_at(&tiers[i], options, 0, 1) < total_at(least, options, 0, 1))
            least = &tiers[i];
    tear_down(lanes);
    SH_TRY(set_up(lanes, options, least, 1));
    return fits(lanes, options) ? SH_OK : refuse(lanes, options, least->segments);
}

sh_status sh_lanes_new(sh_lanes **lanes, const sh_lanes_options *options)
{
    sh_status status;
    tier first = {.segments = CHEAP_ONLY};
    if (options->count == 0 || options->count > SH_LANES_MAX)
        return sh_fail(SH_INVALID, "--lanes %u: must be 1 to %d", options->count, SH_LANES_MAX);
    sh_lanes *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the lanes");
    fresh->kernels = options->kernels;
    fresh->programs = calloc(options->size_count, sizeof *fresh->programs);
    fresh->memory = calloc(options->count, sizeof *fresh->memory);
    fresh->shared = calloc(options->count, sizeof *fresh->shared);
    if (fresh->programs == NULL || fresh->memory == NULL || fresh->shared == NULL)
        SH_TRY_DONE(sh_fail_memory(options->count * sizeof *fresh->memory, "the lanes"));
    SH_TRY_DONE(set_up(fresh, options, &first, options->count));
    if (!fits(fresh, options))
        SH_TRY_DONE(fit(fresh, options));
    SH_TRY_DONE(sh_team_start(&fresh->team, fresh->count));
    *lanes = fresh;
    return SH_OK;
done:
    sh_lanes_free(fresh);
    return status;
}

void sh_lanes_free(sh_lanes *lanes)
{
    if (lanes == NULL)
        return;
    tear_down(lanes);
    sh_team_stop(lanes->team);
    free(lanes->memory);
    free(lanes->shared);
    free(lanes->programs);
    free(lanes);
}

const sh_footprint *sh_lanes_footprint(const sh_lanes *lanes)
{
    return &lanes->footprint;
}

sh_team *sh_lanes_team(const sh_lanes *lanes)
{
    return lanes->team;
}

uint32_t sh_lanes_count(const sh_lanes *lanes)
{
    return lanes->count;
}

size_t sh_lanes_bytes(const sh_lanes *lanes)
{
    return lanes->count * lanes->memory_bytes + lanes->shared_count * lanes->shared_bytes;
}

sh_status sh_lanes_profile(const sh_lanes *lanes, sh_profile *profile, sh_model_mode mode,
                           sh_profile_level level)
{
    for (size_t i = 0; i < lanes->program_count; i++) {
        const lane_program *program = &lanes->programs[i];
        for (uint32_t lane = 0; program->size.mode == mode && lane < lanes->count; lane++)
            SH_TRY(sh_profile_add_execution(profile, program->executions[lane], program->program,
                                            program->graph, level));
    }
    return SH_OK;
}

bool sh_lanes_program(const sh_lanes *lanes, size_t index, sh_lane_size *size,
                      const sh_program **program, const sh_graph **graph)
{
    if (index >= lanes->program_count)
        return false;
    *size = lanes->programs[index].size;
    *program = lanes->programs[index].program;
    *graph = lanes->programs[index].graph;
    return true;
}

sh_execution *sh_lanes_execution(const sh_lanes *lanes, uint32_t lane, sh_model_mode mode,
                                 uint32_t samples)
{
    const lane_program *program = find(lanes, mode, samples);
    return program == NULL ? NULL : program->executions[lane];
}

uint64_t sh_lanes_progress(const sh_lanes *lanes)
{
    uint64_t progress = atomic_load_explicit(&lanes->turns, memory_order_relaxed);
    for (size_t i = 0; i < lanes->program_count; i++)
        for (uint32_t lane = 0; lane < lanes->count; lane++)
            progress += sh_execution_progress(lanes->programs[i].executions[lane]);
    return progress;
}

void sh_lanes_note_turn(sh_lanes *lanes)
{
    atomic_fetch_add_explicit(&lanes->turns, 1, memory_order_relaxed);
}

void sh_lanes_begin_reading(sh_lanes *lanes)
{
    atomic_fetch_add_explicit(&lanes->reading, 1, memory_order_relaxed);
}

void sh_lanes_end_reading(sh_lanes *lanes)
{
    atomic_fetch_sub_explicit(&lanes->reading, 1, memory_order_relaxed);
}

bool sh_lanes_are_reading(const sh_lanes *lanes)
{
    return atomic_load_explicit(&lanes->reading, memory_order_relaxed) > 0;
}

void sh_lanes_set_waiting(sh_lanes *lanes, bool waiting)
{
    atomic_store_explicit(&lanes->waiting, waiting, memory_order_relaxed);
}

bool sh_lanes_are_waiting(const sh_lanes *lanes)
{
    return atomic_load_explicit(&lanes->waiting, memory_order_relaxed);
}

void sh_lanes_interrupt(sh_lanes *lanes, bool interrupted)
{
    atomic_store_explicit(&lanes->interrupted, interrupted, memory_order_relaxed);
}
