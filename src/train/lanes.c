/* SPDX-License-Identifier: Apache-2.0 */
#include "train/lanes.h"

#include <stdlib.h>

/* One program with its shared memory and an execution for each lane. */
typedef struct lane_program {
    sh_lane_size size;
    sh_program *program;
    sh_graph *graph; /* that it was compiled from, where it is timed; else NULL */
    void *shared;
    sh_execution **executions; /* by lane */
} lane_program;

struct sh_lanes {
    sh_backend_list backends;
    sh_team *team;
    uint32_t count;
    lane_program *programs;
    size_t program_count;
    void **memory; /* by lane; every program of the lane uses the same */
    size_t memory_bytes;
    size_t shared_bytes;
};

static lane_program *find(const sh_lanes *lanes, sh_model_mode mode, uint32_t samples)
{
    for (size_t i = 0; i < lanes->program_count; i++) {
        lane_program *program = &lanes->programs[i];
        if (program->size.mode == mode && program->size.samples == samples)
            return program;
    }
    return NULL;
}

static sh_status compile(sh_lanes *lanes, const sh_lanes_options *options, sh_lane_size size)
{
    sh_graph *graph;
    lane_program *fresh = &lanes->programs[lanes->program_count];
    SH_TRY(sh_model_build(&graph, &options->model, size.samples, size.mode));
    const sh_status status = sh_program_compile(&fresh->program, graph, &lanes->backends);
    if (status == SH_OK && options->clock != NULL)
        fresh->graph = graph;
    else
        sh_graph_free(graph);
    SH_TRY(status);
    lanes->program_count++;
    fresh->size = size;
    const size_t lane_bytes = sh_program_lane_bytes(fresh->program);
    const size_t shared_bytes = sh_program_shared_bytes(fresh->program);
    if (lanes->memory_bytes < lane_bytes)
        lanes->memory_bytes = lane_bytes;
    lanes->shared_bytes += shared_bytes;
    return sh_block_new(&fresh->shared, shared_bytes, "prepared weights");
}

static sh_status bind(sh_lanes *lanes, lane_program *program, const sh_lanes_options *options)
{
    program->executions = calloc(lanes->count, sizeof *program->executions);
    if (program->executions == NULL)
        return sh_fail_memory(lanes->count * sizeof *program->executions, "the lanes");
    for (uint32_t i = 0; i < lanes->count; i++) {
        SH_TRY(sh_execution_new(&program->executions[i], program->program, lanes->memory[i],
                                program->shared, options->parameters));
        if (options->clock != NULL)
            SH_TRY(sh_execution_watch(program->executions[i], options->clock));
    }
    return SH_OK;
}

static void enter_thread(void *context, uint32_t worker)
{
    (void)worker;
    sh_backend_enter_thread(context);
}

static sh_status fill(sh_lanes *lanes, const sh_lanes_options *options)
{
    lanes->backends = *options->backends;
    lanes->programs = calloc(options->size_count, sizeof *lanes->programs);
    lanes->memory = calloc(options->count, sizeof *lanes->memory);
    if (lanes->programs == NULL || lanes->memory == NULL)
        return sh_fail_memory(options->count * sizeof *lanes->memory, "the lanes");
    SH_TRY(sh_team_start(&lanes->team, options->count));
    lanes->count = options->count;
    sh_team_run(lanes->team, enter_thread, &lanes->backends);
    for (size_t i = 0; i < options->size_count; i++) {
        const sh_lane_size size = options->sizes[i];
        if (size.samples != 0 && find(lanes, size.mode, size.samples) == NULL)
            SH_TRY(compile(lanes, options, size));
    }
    for (uint32_t i = 0; i < lanes->count; i++)
        SH_TRY(sh_block_new(&lanes->memory[i], lanes->memory_bytes, "a lane's activations"));
    for (size_t i = 0; i < lanes->program_count; i++)
        SH_TRY(bind(lanes, &lanes->programs[i], options));
    return SH_OK;
}

sh_status sh_lanes_new(sh_lanes **lanes, const sh_lanes_options *options)
{
    if (options->count == 0 || options->count > SH_LANES_MAX)
        return sh_fail(SH_INVALID, "--lanes %u: must be 1 to %d", options->count, SH_LANES_MAX);
    sh_lanes *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the lanes");
    const sh_status status = fill(fresh, options);
    if (status != SH_OK) {
        sh_lanes_free(fresh);
        return status;
    }
    *lanes = fresh;
    return SH_OK;
}

void sh_lanes_free(sh_lanes *lanes)
{
    if (lanes == NULL)
        return;
    for (size_t i = 0; i < lanes->program_count; i++) {
        lane_program *program = &lanes->programs[i];
        for (uint32_t j = 0; program->executions != NULL && j < lanes->count; j++)
            sh_execution_free(program->executions[j]);
        free(program->executions);
        free(program->shared);
        sh_program_free(program->program);
        sh_graph_free(program->graph);
    }
    for (uint32_t i = 0; lanes->memory != NULL && i < lanes->count; i++)
        free(lanes->memory[i]);
    sh_team_stop(lanes->team);
    free(lanes->memory);
    free(lanes->programs);
    free(lanes);
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
    return lanes->count * lanes->memory_bytes + lanes->shared_bytes;
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
