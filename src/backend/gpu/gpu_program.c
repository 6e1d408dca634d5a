/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is three blocks:
 *
 *     weights   parameters, consecutively
 *     values    inputs and results of nodes, placed by lifetime; the G grains of a value are
 *               consecutive
 *     sums      the gradients as integers, and the facts of each, by parameter
 *
 * A value that depends on parameters alone exists once. A reshape shares its input's memory. If the
 * number of grains changes, launches are made again.
 */
#include "backend/gpu/gpu_program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gpu_call.h"
#include "backend/gpu/gpu_kernels.h"
#include "graph/memory_plan.h"

#define MAX_VALUES 12
#define MOST_ROWS 65535 /* of a grid, along axes 2 and 3 */

typedef struct value_place {
    sh_value_id of;   /* itself, or a reshape's input */
    bool shared;      /* by all grains */
    size_t parameter; /* index; SIZE_MAX: none */
    size_t bytes;     /* of a grain */
} value_place;

typedef struct gpu_launch {
    sh_gpu_kernel *kernel;
    const char *name; /* static */
    uint32_t node;
    sh_gpu_work work;
    uint32_t grid[3], items;
    sh_value_id values[MAX_VALUES];
    uint32_t value_count;
} gpu_launch;

typedef struct gradient_sum {
    sh_value_id value; /* SH_NO_VALUE: no gradient */
    size_t after;      /* launches before it */
    sh_gpu_range sum, facts;
} gradient_sum;

struct sh_gpu_program {
    sh_gpu_kernels *kernels;
    sh_graph *graph; /* without names and values */
    uint32_t most;   /* grains */
    uint32_t grains; /* of the launches; 0: none yet */
    value_place *places;
    sh_block_plan *blocks; /* by value; 0 bytes: uses another's */
    sh_gpu_memory *weights, *values, *sums;
    sh_gpu_range *weight_ranges; /* by parameter */
    gradient_sum *gradients;     /* by parameter */
    sh_gpu_kernel *add_gradients;
    gpu_launch *launches;
    size_t launch_count, launch_capacity;
    size_t weight_bytes, value_bytes, sum_bytes;
};

static size_t aligned(size_t bytes)
{
    return (bytes + SH_GPU_ALIGNMENT - 1) / SH_GPU_ALIGNMENT * SH_GPU_ALIGNMENT;
}

/* ---- launches -------------------------------------------------------------------------------- */

sh_gpu_work sh_gpu_work_of(const sh_gpu_call *call)
{
    const size_t count = sh_shape_count(&call->out[0].shape);
    const sh_attributes *a = &call->node->attributes;
    sh_gpu_work work = {
        .total = (uint32_t)count * call->grains,
        .count = (uint32_t)count,
        .grains = call->grains,
        .function = a->function,
        .activation = a->activation,
        .training = a->training,
        .number = a->number,
        .numbers = {a->numbers[0], a->numbers[1]},
    };
    memcpy(work.step, call->step, sizeof call->step);
    return work;
}

sh_status sh_gpu_append(const sh_gpu_call *call, const char *kernel, const sh_gpu_work *work,
                        const uint32_t grid[3], uint32_t items, const sh_value_id *values,
                        uint32_t count)
{
    sh_gpu_program *program = call->program;
    gpu_launch launch = {
        .name = kernel,
        .node = (uint32_t)(call->node - call->graph->nodes),
        .work = *work,
        .grid = {grid[0], grid[1], grid[2]},
        .items = items,
        .value_count = count,
    };
    assert(count <= MAX_VALUES);
    if (grid[1] > MOST_ROWS || grid[2] > MOST_ROWS)
        return sh_fail(SH_LIMIT, "%s has more blocks for a GPU than %d: use fewer samples a grain",
                       sh_op_about(call->node->op)->name, MOST_ROWS);
    SH_TRY(sh_gpu_kernels_find(&launch.kernel, program->kernels, kernel));
    memcpy(launch.values, values, count * sizeof *values);
    SH_TRY(sh_array_grow((void **)&program->launches, &program->launch_capacity,
                         program->launch_count + 1, sizeof launch));
    program->launches[program->launch_count++] = launch;
    return SH_OK;
}

sh_status sh_gpu_append_each(const sh_gpu_call *call, const char *kernel, const sh_gpu_work *work,
                             uint32_t inputs)
{
    sh_value_id values[SH_MAX_INPUTS + 1];
    memcpy(values, call->node->in, inputs * sizeof *values);
    values[inputs] = call->node->out[0];
    const uint32_t groups = (uint32_t)(((size_t)work->total + SH_GPU_ITEMS - 1) / SH_GPU_ITEMS);
    return sh_gpu_append(call, kernel, work, (uint32_t[]){groups, 1, 1}, SH_GPU_ITEMS, values,
                         inputs + 1);
}

static sh_status lower_node(sh_gpu_program *program, const sh_node *node, uint32_t grains)
{
    const value_place *made = &program->places[node->out[0]];
    if (made->of != node->out[0])
        return SH_OK;
    const uint32_t units = sh_gpu_describe_open(sh_gpu_kernels_device(program->kernels))->units;
    sh_gpu_call call = {.program = program,
                        .graph = program->graph,
                        .node = node,
                        .units = units > 0 ? units : 1,
                        .tile = sh_gpu_kernels_tile(program->kernels),
                        .grains = made->shared ? 1 : grains};
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->out[i] != SH_NO_VALUE)
            call.out[i] = *sh_graph_type(program->graph, node->out[i]);
    for (uint32_t i = 0; i < node->input_count; i++) {
        call.in[i] = *sh_graph_type(program->graph, node->in[i]);
        call.step[i] =
            program->places[node->in[i]].shared ? 0 : (uint32_t)sh_shape_count(&call.in[i].shape);
    }
    return sh_gpu_lower(&call);
}

static sh_status make_launches(sh_gpu_program *program, uint32_t grains)
{
    const sh_graph *graph = program->graph;
    program->launch_count = 0;
    program->grains = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        SH_TRY(lower_node(program, &graph->nodes[i], grains));
        for (size_t p = 0; p < graph->parameter_count; p++)
            for (uint32_t o = 0; o < graph->nodes[i].output_count; o++)
                if (program->gradients[p].value != SH_NO_VALUE &&
                    program->gradients[p].value == graph->nodes[i].out[o])
                    program->gradients[p].after = program->launch_count;
    }
    program->grains = grains;
    return SH_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void find_places(sh_gpu_program *program)
{
    const sh_graph *graph = program->graph;
    value_place *places = program->places;
    for (size_t i = 0; i < graph->value_count; i++)
        places[i] = (value_place){.of = (sh_value_id)i,
                                  .parameter = SIZE_MAX,
                                  .bytes = sh_type_bytes(&graph->values[i].type)};
    for (size_t p = 0; p < graph->parameter_count; p++) {
        places[graph->parameters[p].value].parameter = p;
        places[graph->parameters[p].value].shared = true;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        bool shared = true;
        for (uint32_t k = 0; k < node->input_count; k++)
            shared = shared && places[node->in[k]].shared;
        for (uint32_t k = 0; k < node->output_count; k++)
            places[node->out[k]].shared = shared;
        if (node->op == SH_OP_reshape)
            places[node->out[0]].of = places[node->in[0]].of;
    }
}

static void live_until(sh_gpu_program *program, sh_value_id value, uint32_t time)
{
    sh_block_plan *block = &program->blocks[program->places[value].of];
    block->last = time > block->last ? time : block->last;
}

/* Finds lifetimes: inputs live from before the run to the end, outputs to the end. */
static sh_status place_values(sh_gpu_program *program)
{
    const sh_graph *graph = program->graph;
    for (size_t i = 0; i < graph->value_count; i++) {
        const value_place *place = &program->places[i];
        size_t all;
        const size_t count = sh_shape_count(&graph->values[i].type.shape);
        if (!sh_size_mul(count, program->most, &all) || all > UINT32_MAX)
            return sh_fail(SH_LIMIT,
                           "%u grains at once have a value of more than 2^32 elements: use fewer",
                           program->most);
        if (place->of == i && place->parameter == SIZE_MAX)
            program->blocks[i].bytes = aligned(place->bytes * (place->shared ? 1 : program->most));
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        const uint32_t now = (uint32_t)i + 1;
        for (uint32_t k = 0; k < node->output_count; k++) {
            if (program->places[node->out[k]].of == node->out[k])
                program->blocks[node->out[k]].first = now;
            live_until(program, node->out[k], now);
        }
        for (uint32_t k = 0; k < node->input_count; k++)
            live_until(program, node->in[k], now);
    }
    const uint32_t end = (uint32_t)graph->node_count + 1;
    for (size_t i = 0; i < graph->output_count; i++)
        live_until(program, graph->outputs[i], end);
    for (size_t i = 0; i < graph->input_count; i++)
        live_until(program, graph->inputs[i], end);
    return sh_memory_plan(&program->value_bytes, program->blocks, graph->value_count);
}

static void place_parameters(sh_gpu_program *program)
{
    const sh_graph *graph = program->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const sh_parameter *parameter = &graph->parameters[p];
        const size_t bytes = sh_type_bytes(sh_graph_type(graph, parameter->value));
        program->weight_ranges[p] = (sh_gpu_range){NULL, program->weight_bytes, bytes};
        program->weight_bytes += aligned(bytes);
        gradient_sum *gradient = &program->gradients[p];
        gradient->value = parameter->gradient;
        if (gradient->value == SH_NO_VALUE)
            continue;
        gradient->sum = (sh_gpu_range){NULL, program->sum_bytes, bytes};
        program->sum_bytes += aligned(bytes);
        gradient->facts =
            (sh_gpu_range){NULL, program->sum_bytes, program->most * sizeof(sh_gpu_facts)};
        program->sum_bytes += aligned(gradient->facts.bytes);
    }
}

static sh_status take_memory(sh_gpu_program *program)
{
    sh_gpu *gpu = sh_gpu_kernels_device(program->kernels);
    SH_TRY(sh_gpu_memory_new(&program->weights, gpu, program->weight_bytes + SH_GPU_ALIGNMENT));
    SH_TRY(sh_gpu_memory_new(&program->values, gpu, program->value_bytes + SH_GPU_ALIGNMENT));
    SH_TRY(sh_gpu_memory_new(&program->sums, gpu, program->sum_bytes + SH_GPU_ALIGNMENT));
    for (size_t p = 0; p < program->graph->parameter_count; p++) {
        program->weight_ranges[p].memory = program->weights;
        program->gradients[p].sum.memory = program->gradients[p].facts.memory = program->sums;
    }
    return SH_OK;
}

static sh_gpu_range range_of(const sh_gpu_program *program, sh_value_id value, uint32_t grains)
{
    const value_place *place = &program->places[value], *base = &program->places[place->of];
    if (base->parameter != SIZE_MAX)
        return program->weight_ranges[base->parameter];
    return (sh_gpu_range){program->values, program->blocks[place->of].offset,
                          place->bytes * (place->shared ? 1 : grains)};
}

/* ---- construction ---------------------------------------------------------------------------- */

/* `list` is a pointer to a pointer. */
static sh_status new_list(void *list, size_t count, size_t bytes)
{
    void *made = calloc(count + 1, bytes);
    if (made == NULL)
        return sh_fail_memory((count + 1) * bytes, "a program for a GPU");
    memcpy(list, &made, sizeof made);
    return SH_OK;
}

static sh_status copy_list(void *copy, const void *list, size_t count, size_t bytes)
{
    void *made;
    SH_TRY(new_list(copy, count, bytes));
    memcpy(&made, copy, sizeof made);
    if (count > 0)
        memcpy(made, list, count * bytes);
    return SH_OK;
}

static sh_status copy_graph(sh_gpu_program *program, const sh_graph *graph)
{
    sh_graph *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return sh_fail_memory(sizeof *copy, "a program for a GPU");
    *copy = *graph;
    program->graph = copy;
    copy->values = NULL;
    copy->nodes = NULL;
    copy->parameters = NULL;
    copy->inputs = copy->outputs = NULL;
    SH_TRY(copy_list(&copy->values, graph->values, graph->value_count, sizeof *graph->values));
    SH_TRY(copy_list(&copy->nodes, graph->nodes, graph->node_count, sizeof *graph->nodes));
    SH_TRY(copy_list(&copy->parameters, graph->parameters, graph->parameter_count,
                     sizeof *graph->parameters));
    SH_TRY(copy_list(&copy->inputs, graph->inputs, graph->input_count, sizeof *graph->inputs));
    return copy_list(&copy->outputs, graph->outputs, graph->output_count, sizeof *graph->outputs);
}

static sh_status build(sh_gpu_program *program, const sh_graph *graph)
{
    SH_TRY(copy_graph(program, graph));
    SH_TRY(new_list(&program->places, graph->value_count, sizeof *program->places));
    SH_TRY(new_list(&program->blocks, graph->value_count, sizeof *program->blocks));
    SH_TRY(
        new_list(&program->weight_ranges, graph->parameter_count, sizeof *program->weight_ranges));
    SH_TRY(new_list(&program->gradients, graph->parameter_count, sizeof *program->gradients));
    find_places(program);
    place_parameters(program);
    SH_TRY(place_values(program));
    SH_TRY(sh_gpu_kernels_find(&program->add_gradients, program->kernels, "add_gradients"));
    SH_TRY(make_launches(program, program->most));
    return take_memory(program);
}

sh_status sh_gpu_program_new(sh_gpu_program **program, const sh_graph *graph,
                             sh_gpu_kernels *kernels, uint32_t grains)
{
    if (grains == 0 || grains > SH_GPU_MAX_GRAINS)
        return sh_fail(SH_INVALID, "a GPU computes 1 to %d grains at once, not %u",
                       SH_GPU_MAX_GRAINS, grains);
    sh_gpu_program *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sh_fail_memory(sizeof *made, "a program for a GPU");
    made->kernels = kernels;
    made->most = grains;
    const sh_status status = build(made, graph);
    if (status != SH_OK) {
        sh_gpu_program_free(made);
        return status;
    }
    *program = made;
    return SH_OK;
}

void sh_gpu_program_free(sh_gpu_program *program)
{
    if (program == NULL)
        return;
    sh_gpu_memory_free(program->weights);
    sh_gpu_memory_free(program->values);
    sh_gpu_memory_free(program->sums);
    if (program->graph != NULL) {
        free(program->graph->values);
        free(program->graph->nodes);
        free(program->graph->parameters);
        free(program->graph->inputs);
        free(program->graph->outputs);
    }
    free(program->graph);
    free(program->places);
    free(program->blocks);
    free(program->weight_ranges);
    free(program->gradients);
    free(program->launches);
    free(program);
}

size_t sh_gpu_program_bytes(const sh_gpu_program *program)
{
    return program->weight_bytes + program->value_bytes + program->sum_bytes;
}

size_t sh_gpu_program_launches(const sh_gpu_program *program)
{
    return program->launch_count;
}

/* ---- use ------------------------------------------------------------------------------------- */

sh_status sh_gpu_program_set_parameter(sh_gpu_program *program, size_t parameter,
                                       const float *values)
{
    assert(parameter < program->graph->parameter_count);
    return sh_gpu_write(program->weight_ranges[parameter], values);
}

sh_status sh_gpu_program_set_input(sh_gpu_program *program, size_t index, uint32_t grains,
                                   const void *values)
{
    assert(index < program->graph->input_count && grains <= program->most);
    return sh_gpu_write(range_of(program, program->graph->inputs[index], grains), values);
}

static sh_status launch(sh_gpu_program *program, size_t number)
{
    const gpu_launch *l = &program->launches[number];
    sh_gpu_argument arguments[MAX_VALUES + 1];
    arguments[0] = sh_gpu_struct(&l->work, sizeof l->work);
    for (uint32_t i = 0; i < l->value_count; i++)
        arguments[1 + i] = sh_gpu_pointer(l->values[i] == SH_NO_VALUE
                                              ? (sh_gpu_range){NULL, 0, 0}
                                              : range_of(program, l->values[i], program->grains));
    return sh_gpu_launch(l->kernel, l->grid, (uint32_t[]){l->items, 1, 1}, arguments,
                         l->value_count + 1);
}

static sh_status add_gradient(sh_gpu_program *program, const gradient_sum *gradient, float unit)
{
    const uint32_t count = (uint32_t)(gradient->sum.bytes / sizeof(int32_t));
    const bool shared = program->places[gradient->value].shared;
    return sh_gpu_launch(program->add_gradients,
                         (uint32_t[]){(count + SH_GPU_ITEMS - 1) / SH_GPU_ITEMS, 1, 1},
                         (uint32_t[]){SH_GPU_ITEMS, 1, 1},
                         (sh_gpu_argument[]){
                             sh_gpu_u32(count),
                             sh_gpu_u32(program->grains),
                             sh_gpu_u32(shared ? 0 : count),
                             sh_gpu_f32(unit),
                             sh_gpu_pointer(range_of(program, gradient->value, program->grains)),
                             sh_gpu_pointer(gradient->sum),
                             sh_gpu_pointer(gradient->facts),
                         },
                         7);
}

static sh_status take_grains(sh_gpu_program *program, uint32_t grains)
{
    assert(grains > 0 && grains <= program->most);
    return grains == program->grains ? SH_OK : make_launches(program, grains);
}

/* Adds the gradients that are complete right before launch number `before`. */
static sh_status add_gradients(sh_gpu_program *program, size_t before, const float *units)
{
    for (size_t p = 0; p < program->graph->parameter_count && units != NULL; p++)
        if (program->gradients[p].value != SH_NO_VALUE && program->gradients[p].after == before)
            SH_TRY(add_gradient(program, &program->gradients[p], units[p]));
    return SH_OK;
}

sh_status sh_gpu_program_run(sh_gpu_program *program, uint32_t grains, const float *units)
{
    SH_TRY(take_grains(program, grains));
    for (size_t i = 0; i < program->launch_count; i++) {
        SH_TRY(add_gradients(program, i, units));
        SH_TRY(launch(program, i));
    }
    return add_gradients(program, program->launch_count, units);
}

sh_status sh_gpu_program_measure(sh_gpu_program *program, uint32_t grains, const float *units,
                                 const sh_clock *clock, sh_gpu_time *times)
{
    sh_gpu *gpu = sh_gpu_kernels_device(program->kernels);
    SH_TRY(take_grains(program, grains));
    for (size_t i = 0; i < program->launch_count; i++) {
        SH_TRY(add_gradients(program, i, units));
        SH_TRY(sh_gpu_finish(gpu));
        const uint64_t start = sh_clock_now_ns(clock);
        SH_TRY(launch(program, i));
        SH_TRY(sh_gpu_finish(gpu));
        times[i] = (sh_gpu_time){program->launches[i].name, program->launches[i].node,
                                 sh_clock_now_ns(clock) - start};
    }
    SH_TRY(add_gradients(program, program->launch_count, units));
    return sh_gpu_finish(gpu);
}

sh_status sh_gpu_program_clear_sums(sh_gpu_program *program)
{
    return sh_gpu_clear((sh_gpu_range){program->sums, 0, program->sum_bytes});
}

sh_status sh_gpu_program_read_sums(sh_gpu_program *program, size_t parameter, int32_t *sums,
                                   sh_gpu_facts *facts)
{
    assert(program->gradients[parameter].value != SH_NO_VALUE);
    SH_TRY(sh_gpu_read(sums, program->gradients[parameter].sum));
    return sh_gpu_read(facts, program->gradients[parameter].facts);
}

sh_status sh_gpu_program_read_output(sh_gpu_program *program, size_t index, uint32_t grains,
                                     void *values)
{
    assert(index < program->graph->output_count && grains <= program->most);
    return sh_gpu_read(values, range_of(program, program->graph->outputs[index], grains));
}
