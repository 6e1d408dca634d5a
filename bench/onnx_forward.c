/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes an ONNX model's outputs for bench/onnx_networks.py: samples on standard input, results
 * on standard output, as native floats. Batch norms use the file's statistics.
 *
 *     bench_onnx_forward FILE SAMPLES CHANNELS ROWS COLUMNS OUTPUTS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/program.h"
#include "base/memory.h"
#include "onnx/import.h"

static void tell(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "%s\n", text);
}

/* Reads a parameter; the caller owns `*weights`. */
static sh_status load(float **weights, const sh_graph *graph, size_t index, const sh_onnx *model)
{
    const sh_parameter *parameter = &graph->parameters[index];
    const size_t count = sh_shape_count(&sh_graph_type(graph, parameter->value)->shape);
    const sh_initial *initial = &parameter->initial;
    sh_onnx_tensor tensor;
    void *block;
    SH_TRY(sh_block_new(&block, count * sizeof(float), "weights"));
    float *values = weights[index] = block;
    for (size_t i = 0; i < count && parameter->role == SH_ROLE_FROZEN; i++)
        values[i] = initial->kind == SH_INITIAL_VALUES ? initial->values[i] : initial->size;
    if (parameter->role == SH_ROLE_FROZEN)
        return SH_OK;
    const Sh__Onnx__TensorProto *stored = sh_onnx_initializer(model, parameter->name);
    if (stored == NULL)
        return sh_fail(SH_NOT_FOUND, "the file has no '%s'", parameter->name);
    SH_TRY(sh_onnx_tensor_of(&tensor, model, stored));
    if (tensor.count != count)
        return sh_fail(SH_INVALID, "'%s' has %zu elements, expected %zu", parameter->name,
                       tensor.count, count);
    return sh_onnx_floats(model, &tensor, values);
}

static sh_status run(const sh_graph *graph, const sh_onnx *model)
{
    const sh_kernels *kernels;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    float **weights = calloc(graph->parameter_count + 1, sizeof *weights);
    if (weights == NULL)
        return sh_fail_memory(graph->parameter_count * sizeof *weights, "weights");
    for (size_t i = 0; i < graph->parameter_count; i++)
        SH_TRY(load(weights, graph, i, model));
    SH_TRY(sh_kernels_choose(&kernels, NULL));
    SH_TRY(sh_program_compile(&program, graph, kernels));
    SH_TRY(sh_block_new(&lane, sh_program_lane_bytes(program), "a model"));
    SH_TRY(sh_block_new(&shared, sh_program_shared_bytes(program), "a model"));
    SH_TRY(sh_execution_new(&execution, program, lane, shared, weights));
    const size_t takes = sh_type_bytes(sh_graph_type(graph, graph->inputs[0]));
    if (fread(sh_execution_input(execution, 0), 1, takes, stdin) != takes)
        return sh_fail(SH_INVALID, "the samples have %zu bytes", takes);
    SH_TRY(sh_execution_prepare(execution));
    SH_TRY(sh_execution_run(execution, NULL, NULL));
    const size_t gives = sh_type_bytes(sh_graph_type(graph, graph->outputs[0]));
    if (fwrite(sh_execution_output(execution, 0), 1, gives, stdout) != gives)
        return sh_fail(SH_IO, "the results cannot be written");
    return SH_OK;
}

static sh_status compute(char **words)
{
    sh_net net = {0};
    sh_onnx *model;
    sh_shape shape = {.rank = 4};
    for (size_t i = 0; i < shape.rank; i++)
        shape.dim[i] = strtoul(words[2 + i], NULL, 10);
    SH_TRY(sh_onnx_open(&model, words[1]));
    SH_TRY(sh_graph_new(&net.graph));
    /* Targets whose loss adds no final layer to the model. */
    const size_t outputs = strtoul(words[6], NULL, 10);
    const bool same = outputs == shape.dim[1] * shape.dim[2] * shape.dim[3];
    const sh_onnx_wish wish = {
        .outputs = outputs, .target = same ? SH_TARGET_SAMPLE : SH_TARGET_NUMBERS, .note = tell};
    const sh_value_id x = sh_graph_input(net.graph, (sh_type){SH_F32, shape});
    sh_graph_output(net.graph, sh_onnx_build(&net, x, model, &wish));
    SH_TRY(sh_graph_status(net.graph));
    return run(net.graph, model);
}

int main(int count, char **words)
{
    if (count != 7) {
        fprintf(stderr, "usage: bench_onnx_forward FILE SAMPLES CHANNELS ROWS COLUMNS OUTPUTS\n");
        return 2;
    }
    if (compute(words) == SH_OK)
        return 0;
    fprintf(stderr, "bench_onnx_forward: %s\n", sh_message());
    return 1;
}
