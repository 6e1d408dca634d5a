/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's graph is that of a processor's lane, but without recomputed activations, which
 * changes no bit. Only loss, answer, target and, in evaluation, the model's output are read.
 *
 * A new lane runs once: drivers compile a kernel at its first launch, which may take seconds, and a
 * device must not stay silent that long in a step.
 */
#include "train/gpu_lane.h"

#include <assert.h>
#include <stdlib.h>

#include "backend/gpu/gpu_conformance.h"
#include "base/log.h"
#include "base/memory.h"
#include "gpu/device.h"
#include "graph/graph.h"

enum { OUTPUTS = 3, EVALUATED = 4 };

/* Values of all grains, one after another, on the host. */
typedef struct port {
    size_t bytes; /* per grain */
    unsigned char *values;
} port;

typedef struct gradient_sum {
    int32_t *sums; /* NULL: the parameter has no gradient */
    sh_gpu_facts *facts;
    sh_sum_grain *grains; /* the facts, for the exact sum */
} gradient_sum;

struct sh_gpu_lane {
    sh_gpu *gpu;
    sh_gpu_kernels *kernels;
    bool borrows; /* gpu and kernels belong to another lane */
    bool trains;
    sh_gpu_program *program;
    uint32_t grains, samples;
    size_t input_count, output_count, parameter_count;
    port *inputs, outputs[EVALUATED];
    gradient_sum *gradients; /* by parameter */
    float *units;            /* by parameter */
};

static sh_status compile(sh_gpu_lane *lane, const sh_graph *graph, uint32_t grains)
{
    for (;; grains /= 2) {
        const sh_status status = sh_gpu_program_new(&lane->program, graph, lane->kernels, grains);
        if (status == SH_OK)
            lane->grains = grains;
        if ((status != SH_NO_MEMORY && status != SH_LIMIT) || grains == 1)
            return status;
    }
}

static sh_status make_port(port *made, const sh_graph *graph, sh_value_id value, uint32_t grains)
{
    void *block;
    made->bytes = sh_type_bytes(sh_graph_type(graph, value));
    SH_TRY(sh_block_new(&block, made->bytes * grains, "grains for a GPU"));
    made->values = block;
    return SH_OK;
}

static sh_status make_gradient(gradient_sum *made, const sh_graph *graph, size_t parameter,
                               uint32_t grains)
{
    void *block;
    const sh_parameter *about = &graph->parameters[parameter];
    if (about->gradient == SH_NO_VALUE)
        return SH_OK;
    SH_TRY(sh_block_new(&block, sh_type_bytes(sh_graph_type(graph, about->gradient)),
                        "gradients of a GPU"));
    made->sums = block;
    SH_TRY(sh_block_new(&block, grains * sizeof *made->facts, "gradients of a GPU"));
    made->facts = block;
    SH_TRY(sh_block_new(&block, grains * sizeof *made->grains, "gradients of a GPU"));
    made->grains = block;
    return SH_OK;
}

static sh_status make_room(sh_gpu_lane *lane, const sh_graph *graph)
{
    void *block;
    SH_TRY(sh_block_new(&block, graph->input_count * sizeof *lane->inputs, "a GPU's lane"));
    lane->inputs = block;
    lane->input_count = graph->input_count;
    SH_TRY(sh_block_new(&block, graph->parameter_count * sizeof *lane->gradients, "a GPU's lane"));
    lane->gradients = block;
    SH_TRY(sh_block_new(&block, graph->parameter_count * sizeof *lane->units, "a GPU's lane"));
    lane->units = block;
    lane->parameter_count = graph->parameter_count;
    for (size_t i = 0; i < graph->input_count; i++)
        SH_TRY(make_port(&lane->inputs[i], graph, graph->inputs[i], lane->grains));
    assert(graph->output_count >= lane->output_count);
    for (size_t i = 0; i < lane->output_count; i++)
        SH_TRY(make_port(&lane->outputs[i], graph, graph->outputs[i], lane->grains));
    for (size_t i = 0; i < graph->parameter_count; i++)
        SH_TRY(make_gradient(&lane->gradients[i], graph, i, lane->grains));
    return SH_OK;
}

static sh_status take_gpu(sh_gpu_lane *lane, const sh_gpu_lane_options *options)
{
    lane->borrows = options->beside != NULL;
    if (lane->borrows) {
        lane->gpu = options->beside->gpu;
        lane->kernels = options->beside->kernels;
        return SH_OK;
    }
    SH_TRY(sh_gpu_open(&lane->gpu, options->gpu));
    SH_TRY(sh_gpu_kernels_new(&lane->kernels, lane->gpu));
    return sh_gpu_check_conformance(lane->kernels);
}

sh_status sh_gpu_lane_new(sh_gpu_lane **lane, const sh_gpu_lane_options *options)
{
    sh_status status;
    sh_graph *graph = NULL;
    sh_gpu_lane *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a GPU's lane");
    fresh->samples = options->samples;
    fresh->trains = options->mode == SH_MODEL_TRAIN;
    fresh->output_count = options->mode == SH_MODEL_EVALUATE ? EVALUATED : OUTPUTS;
    SH_TRY_DONE(sh_model_build(&graph, options->model, options->samples, options->mode));
    SH_TRY_DONE(take_gpu(fresh, options));
    SH_TRY_DONE(compile(fresh, graph, options->grains));
    SH_TRY_DONE(make_room(fresh, graph));
    SH_TRY_DONE(sh_gpu_lane_run(fresh, fresh->grains));
    sh_graph_free(graph);
    *lane = fresh;
    return SH_OK;
done:
    sh_graph_free(graph);
    sh_gpu_lane_free(fresh);
    return status;
}

void sh_gpu_lane_free(sh_gpu_lane *lane)
{
    if (lane == NULL)
        return;
    /* After a failure, queued work may still write to this memory. */
    if (lane->gpu != NULL && sh_gpu_finish(lane->gpu) != SH_OK)
        sh_log(SH_LOG_DEBUG, "gpu.closed", "reason=%s", sh_message());
    sh_gpu_program_free(lane->program);
    if (!lane->borrows) {
        sh_gpu_kernels_free(lane->kernels);
        sh_gpu_close(lane->gpu);
    }
    for (size_t i = 0; i < lane->input_count; i++)
        free(lane->inputs[i].values);
    for (size_t i = 0; i < EVALUATED; i++)
        free(lane->outputs[i].values);
    for (size_t i = 0; i < lane->parameter_count; i++) {
        free(lane->gradients[i].sums);
        free(lane->gradients[i].facts);
        free(lane->gradients[i].grains);
    }
    free(lane->inputs);
    free(lane->gradients);
    free(lane->units);
    free(lane);
}

const sh_gpu_description *sh_gpu_lane_about(const sh_gpu_lane *lane)
{
    return sh_gpu_describe_open(lane->gpu);
}

uint32_t sh_gpu_lane_grains(const sh_gpu_lane *lane)
{
    return lane->grains;
}

uint32_t sh_gpu_lane_samples(const sh_gpu_lane *lane)
{
    return lane->samples;
}

void sh_gpu_lane_set_unit(sh_gpu_lane *lane, size_t parameter, float unit)
{
    lane->units[parameter] = unit;
}

sh_status sh_gpu_lane_prepare(sh_gpu_lane *lane, float *const *parameters)
{
    for (size_t i = 0; i < lane->parameter_count; i++)
        SH_TRY(sh_gpu_program_set_parameter(lane->program, i, parameters[i]));
    return sh_gpu_finish(lane->gpu);
}

size_t sh_gpu_lane_inputs(const sh_gpu_lane *lane)
{
    return lane->input_count;
}

size_t sh_gpu_lane_input_bytes(const sh_gpu_lane *lane, size_t index)
{
    return lane->inputs[index].bytes;
}

void *sh_gpu_lane_input(const sh_gpu_lane *lane, size_t index, uint32_t grain)
{
    return lane->inputs[index].values + grain * lane->inputs[index].bytes;
}

sh_status sh_gpu_lane_run(sh_gpu_lane *lane, uint32_t count)
{
    sh_gpu_program *program = lane->program;
    for (size_t i = 0; i < lane->input_count; i++)
        SH_TRY(sh_gpu_program_set_input(program, i, count, lane->inputs[i].values));
    if (lane->trains)
        SH_TRY(sh_gpu_program_clear_sums(program));
    SH_TRY(sh_gpu_program_run(program, count, lane->trains ? lane->units : NULL));
    for (size_t i = 0; i < lane->parameter_count; i++)
        if (lane->gradients[i].sums != NULL)
            SH_TRY(sh_gpu_program_read_sums(program, i, lane->gradients[i].sums,
                                            lane->gradients[i].facts));
    for (size_t i = 0; i < lane->output_count; i++)
        SH_TRY(sh_gpu_program_read_output(program, i, count, lane->outputs[i].values));
    return sh_gpu_finish(lane->gpu);
}

const void *sh_gpu_lane_output(const sh_gpu_lane *lane, size_t index, uint32_t grain)
{
    return lane->outputs[index].values + grain * lane->outputs[index].bytes;
}

const int32_t *sh_gpu_lane_sums(const sh_gpu_lane *lane, size_t parameter,
                                const sh_sum_grain **grains)
{
    const gradient_sum *gradient = &lane->gradients[parameter];
    for (uint32_t g = 0; gradient->sums != NULL && g < lane->grains; g++)
        gradient->grains[g] = (sh_sum_grain){gradient->facts[g].top, gradient->facts[g].not_finite};
    *grains = gradient->grains;
    return gradient->sums;
}
