/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/calibration.h"

#include <stdlib.h>

#include "onnx/import.h"

#define GROUP 16

typedef struct calibrating {
    const sh_calibration *asked;
    sh_value_id *values; /* by node; SH_NO_VALUE: not computed */
    size_t nodes;
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    uint32_t group;
} calibrating;

static void take_step(void *context, const sh_onnx_step *step)
{
    calibrating *c = context;
    if (c->asked->chosen == NULL || c->asked->chosen[step->index])
        c->values[step->index] = step->given;
}

static sh_status build_graph(calibrating *c)
{
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(c->asked->session->pipeline));
    const sh_onnx_wish wish = {
        .outputs = problem.outputs, .target = problem.target, .step = take_step, .context = c};
    const sh_shape samples =
        sh_shape_of(4, (size_t[]){c->group, problem.channels, problem.height, problem.width});
    SH_TRY(sh_graph_new(&c->graph));
    sh_net net = {.graph = c->graph};
    const sh_value_id x = sh_graph_input(c->graph, (sh_type){SH_F32, samples});
    (void)sh_onnx_build(&net, x, c->asked->model, &wish);
    for (size_t i = 0; i < c->nodes; i++)
        if (c->values[i] != SH_NO_VALUE)
            sh_graph_output(c->graph, c->values[i]);
    return sh_graph_status(c->graph);
}

static sh_status compile(calibrating *c)
{
    const sh_session *session = c->asked->session;
    SH_TRY(sh_program_compile(&c->program, c->graph, session->kernels));
    SH_TRY(sh_block_new(&c->lane, sh_program_lane_bytes(c->program), "calibration"));
    SH_TRY(sh_block_new(&c->shared, sh_program_shared_bytes(c->program), "calibration"));
    SH_TRY(sh_execution_new(&c->execution, c->program, c->lane, c->shared,
                            session->replica->parameters));
    return sh_execution_prepare(c->execution);
}

static sh_status give(const calibrating *c)
{
    const sh_calibration *asked = c->asked;
    for (size_t i = 0, output = 0; i < c->nodes; i++)
        if (c->values[i] != SH_NO_VALUE)
            SH_TRY(asked->take(asked->context, i, &sh_graph_type(c->graph, c->values[i])->shape,
                               sh_execution_output(c->execution, output++)));
    return SH_OK;
}

static sh_status measure(calibrating *c, uint32_t samples, uint32_t wanted)
{
    const sh_pipeline *pipeline = c->asked->session->pipeline;
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    const size_t elements = sh_dataset_elements(info);
    const sh_shape shape = sh_shape_of(2, (size_t[]){c->group, elements});
    unsigned char *target = malloc(sh_target_bytes(info->target, info->outputs) + 1);
    float *input = sh_execution_input(c->execution, 0);
    sh_status status = target != NULL ? SH_OK : sh_fail_memory(0, "calibration");
    for (uint32_t first = 0; first + c->group <= wanted && status == SH_OK; first += c->group) {
        for (uint32_t i = 0; i < c->group && status == SH_OK; i++)
            status = sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, 0,
                                      (uint32_t)((uint64_t)(first + i) * samples / wanted),
                                      input + i * elements, target);
        if (status == SH_OK) /* first, because a run may overwrite its inputs */
            status = c->asked->take(c->asked->context, SH_CALIBRATION_SAMPLES, &shape, input);
        if (status == SH_OK)
            status = sh_execution_run(c->execution, NULL, NULL);
        if (status == SH_OK)
            status = give(c);
    }
    free(target);
    return status;
}

sh_status sh_calibrate(const sh_calibration *asked)
{
    const uint64_t there = sh_pipeline_about(asked->session->pipeline)->count[SH_SPLIT_TRAIN];
    const uint32_t wanted = there < asked->samples ? (uint32_t)there : asked->samples;
    calibrating c = {.asked = asked, .group = wanted < GROUP ? wanted : GROUP};
    sh_status status;
    c.nodes = sh_onnx_graph(asked->model)->n_node;
    c.values = malloc((c.nodes + 1) * sizeof *c.values);
    if (c.values == NULL)
        return sh_fail_memory(c.nodes * sizeof *c.values, "calibration");
    for (size_t i = 0; i < c.nodes; i++)
        c.values[i] = SH_NO_VALUE;
    SH_TRY_DONE(build_graph(&c));
    SH_TRY_DONE(compile(&c));
    SH_TRY_DONE(measure(&c, (uint32_t)there, wanted));
done:
    sh_execution_free(c.execution);
    sh_program_free(c.program);
    sh_graph_free(c.graph);
    free(c.lane);
    free(c.shared);
    free(c.values);
    return status;
}
