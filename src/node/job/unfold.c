/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network as it came is computed in evaluation on samples of the training split, by one lane,
 * with the results of the convolutions as outputs. Sums are in double, in a fixed order, of values
 * whose bits are the same on every processor, and so are the batch norms'.
 */
#include "node/job/unfold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "onnx/import.h"
#include "onnx/model_shelf.h"
#include "onnx/unfolded.h"

#define GROUP 16 /* samples computed together */

/* The result of a convolution. */
typedef struct measured {
    const Sh__Onnx__NodeProto *node;
    sh_value_id value; /* of the graph; SH_NO_VALUE: not computed */
    size_t channels;
    double *sums, *squares; /* by channel; owned */
    double count;           /* numbers of a channel */
} measured;

typedef struct unfolding {
    sh_workbench *bench;
    const sh_onnx *model;
    bool *chosen; /* by node */
    measured *all;
    size_t count;
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    uint32_t group;
} unfolding;

static void take_step(void *context, const sh_onnx_step *step)
{
    unfolding *u = context;
    if (!u->chosen[step->index])
        return;
    for (size_t i = 0; i < u->count; i++)
        if (u->all[i].node == sh_onnx_graph(u->model)->node[step->index])
            u->all[i].value = step->given;
}

/* A graph from samples to the results of the convolutions. */
static sh_status build_graph(unfolding *u)
{
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(u->bench->pipeline));
    const sh_onnx_wish wish = {
        .outputs = problem.outputs, .target = problem.target, .step = take_step, .context = u};
    const sh_shape samples =
        sh_shape_of(4, (size_t[]){u->group, problem.channels, problem.height, problem.width});
    SH_TRY(sh_graph_new(&u->graph));
    sh_net net = {.graph = u->graph};
    const sh_value_id x = sh_graph_input(u->graph, (sh_type){SH_F32, samples});
    (void)sh_onnx_build(&net, x, u->model, &wish);
    SH_TRY(sh_graph_status(u->graph));
    for (size_t i = 0; i < u->count; i++) {
        measured *m = &u->all[i];
        if (m->value == SH_NO_VALUE)
            continue;
        m->channels = sh_graph_type(u->graph, m->value)->shape.dim[1];
        m->sums = calloc(m->channels, sizeof *m->sums);
        m->squares = calloc(m->channels, sizeof *m->squares);
        if (m->sums == NULL || m->squares == NULL)
            return sh_fail_memory(m->channels * sizeof *m->sums, "batch norms");
        sh_graph_output(u->graph, m->value);
    }
    return sh_graph_status(u->graph);
}

static sh_status compile(unfolding *u)
{
    SH_TRY(sh_program_compile(&u->program, u->graph, u->bench->kernels));
    SH_TRY(sh_block_new(&u->lane, sh_program_lane_bytes(u->program), "calibration"));
    SH_TRY(sh_block_new(&u->shared, sh_program_shared_bytes(u->program), "calibration"));
    SH_TRY(sh_execution_new(&u->execution, u->program, u->lane, u->shared,
                            u->bench->replica->parameters));
    return sh_execution_prepare(u->execution);
}

/* Adds what a convolution has made of a group: [N, C, ...]. */
static void add(measured *m, const sh_shape *shape, const float *values)
{
    const size_t each = sh_shape_count(shape) / shape->dim[0] / m->channels;
    for (size_t n = 0; n < shape->dim[0]; n++)
        for (size_t c = 0; c < m->channels; c++)
            for (size_t i = 0; i < each; i++) {
                const double value = (double)*values++;
                m->sums[c] += value;
                m->squares[c] += value * value;
            }
    m->count += (double)(shape->dim[0] * each);
}

static sh_status measure(unfolding *u)
{
    const sh_pipeline *pipeline = u->bench->pipeline;
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    const uint32_t samples = (uint32_t)info->count[SH_SPLIT_TRAIN];
    const uint32_t wanted = samples < SH_UNFOLD_SAMPLES ? samples : SH_UNFOLD_SAMPLES;
    unsigned char *target = malloc(sh_target_bytes(info->target, info->outputs) + 1);
    float *input = sh_execution_input(u->execution, 0);
    sh_status status = target != NULL ? SH_OK : sh_fail_memory(0, "calibration");
    for (uint32_t first = 0; first + u->group <= wanted && status == SH_OK; first += u->group) {
        for (uint32_t i = 0; i < u->group && status == SH_OK; i++)
            status = sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, 0,
                                      (uint32_t)((uint64_t)(first + i) * samples / wanted),
                                      input + i * sh_dataset_elements(info), target);
        if (status == SH_OK)
            status = sh_execution_run(u->execution, NULL, NULL);
        for (size_t i = 0, output = 0; i < u->count && status == SH_OK; i++)
            if (u->all[i].value != SH_NO_VALUE)
                add(&u->all[i], &sh_graph_type(u->graph, u->all[i].value)->shape,
                    sh_execution_output(u->execution, output++));
    }
    free(target);
    return status;
}

/* Fills a tensor of a batch norm, if the name is one. */
static bool fill_norm(const unfolding *u, const char *name, float *values)
{
    static const char *const parts[] = {"weight", "bias", "mean", "var"};
    char own[SH_UNFOLDED_NAME];
    for (size_t i = 0; i < u->count; i++)
        for (size_t part = 0; part < 4; part++) {
            const measured *m = &u->all[i];
            sh_unfolded_name(own, m->node, parts[part]);
            if (m->value == SH_NO_VALUE || strcmp(own, name) != 0)
                continue;
            for (size_t c = 0; c < m->channels; c++) {
                const double mean = m->sums[c] / m->count;
                const double found = m->squares[c] / m->count - mean * mean;
                const float variance = found > 0 ? (float)found : 0.0f;
                const float figures[] = {sqrtf(variance + SH_UNFOLDED_EPSILON), (float)mean,
                                         (float)mean, variance};
                values[c] = figures[part];
            }
            return true;
        }
    return false;
}

/* The weights of the network as it came, and the batch norms. */
static sh_status fill(const unfolding *u, sh_replica *to, const sh_replica *from)
{
    for (uint32_t t = 0; t < to->tensors; t++) {
        const char *name = sh_replica_tensor_name(to, t);
        const size_t bytes = sh_type_bytes(sh_replica_tensor_type(to, t));
        uint32_t other = 0;
        while (other < from->tensors && strcmp(sh_replica_tensor_name(from, other), name) != 0)
            other++;
        if (other < from->tensors)
            memcpy(to->parameters[t], from->parameters[other], bytes);
        else if (!fill_norm(u, name, to->parameters[t]))
            return sh_fail(SH_INTERNAL, "--unfold: nothing fills '%.128s'", name);
    }
    return SH_OK;
}

/* Puts the new network in the bench's. */
static sh_status replace(unfolding *u)
{
    sh_workbench *bench = u->bench;
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(bench->pipeline));
    sh_network *network;
    sh_replica *replica;
    sh_job job = bench->job;
    SH_TRY(sh_onnx_unfold(&network, u->model, u->chosen, sh_onnx_path(u->model)));
    snprintf(job.model, sizeof job.model, "%s", network->spec);
    sh_status status = sh_replica_new_with(&replica, &job, &problem, network);
    if (status == SH_OK && (status = fill(u, replica, bench->replica)) != SH_OK)
        sh_replica_free(replica);
    if (status != SH_OK) {
        sh_network_unref(network);
        return status;
    }
    /* Only a checkpoint that is copied out of its run needs the cache. */
    if (sh_model_shelf_put(network) != SH_OK)
        sh_log(SH_LOG_WARN, "network.uncached", "reason=\"%s\"", sh_message());
    sh_replica_free(bench->replica);
    sh_network_unref(bench->network);
    bench->replica = replica;
    bench->network = network;
    bench->job = job;
    return SH_OK;
}

static sh_status unfold(unfolding *u)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(u->model);
    const uint64_t samples = sh_pipeline_about(u->bench->pipeline)->count[SH_SPLIT_TRAIN];
    u->group = samples < GROUP ? (uint32_t)samples : GROUP;
    u->chosen = calloc(graph->n_node + 1, sizeof *u->chosen);
    u->all = calloc(graph->n_node + 1, sizeof *u->all);
    if (u->chosen == NULL || u->all == NULL)
        return sh_fail_memory(graph->n_node * sizeof *u->all, "batch norms");
    SH_TRY(sh_onnx_unfoldable(u->chosen, u->model));
    for (size_t i = 0; i < graph->n_node; i++)
        if (u->chosen[i])
            u->all[u->count++] = (measured){.node = graph->node[i], .value = SH_NO_VALUE};
    SH_TRY(build_graph(u));
    SH_TRY(compile(u));
    SH_TRY(measure(u));
    return replace(u);
}

sh_status sh_unfold(sh_workbench *bench, const sh_onnx *file, size_t *restored)
{
    unfolding u = {.bench = bench, .model = file};
    const sh_status status = unfold(&u);
    if (status == SH_OK)
        *restored = u.count;
    for (size_t i = 0; i < u.count; i++) {
        free(u.all[i].sums);
        free(u.all[i].squares);
    }
    sh_execution_free(u.execution);
    sh_program_free(u.program);
    sh_graph_free(u.graph);
    free(u.lane);
    free(u.shared);
    free(u.all);
    free(u.chosen);
    return status;
}
