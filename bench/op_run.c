/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one operator for bench/chain_error.py. Standard input has its inputs one after another,
 * standard output gets its first output: native floats, row-major.
 *
 *     bench_op_run OPERATOR SHAPE,SHAPE... [NAME=NUMBER...]
 *
 *     bench_op_run conv2d 16x20x12x12,50x20x5x5 padding=0
 *     bench_op_run conv2d_grad_weight 16x20x12x12,16x50x8x8 shape=50x20x5x5
 *
 * Names: stride, padding, groups, axis, epsilon, training, shape (for gradients).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/program.h"
#include "base/memory.h"
#include "graph/graph.h"

static sh_shape shape_of(const char *text)
{
    sh_shape shape = {0};
    for (char *end; shape.rank < SH_MAX_RANK; text = end + 1) {
        shape.dim[shape.rank++] = strtoul(text, &end, 10);
        if (*end != 'x')
            break;
    }
    return shape;
}

static sh_attributes attributes_of(char **words, int count)
{
    sh_attributes a = {.groups = 1, .no_bias = true};
    for (int i = 0; i < 2; i++)
        a.stride[i] = a.dilation[i] = 1;
    for (int w = 0; w < count; w++) {
        const char *value = strchr(words[w], '=');
        if (value == NULL)
            continue;
        const size_t number = strtoul(value + 1, NULL, 10);
        if (strncmp(words[w], "stride", 6) == 0)
            a.stride[0] = a.stride[1] = number;
        else if (strncmp(words[w], "padding", 7) == 0)
            a.padding[0] = a.padding[1] = number;
        else if (strncmp(words[w], "groups", 6) == 0)
            a.groups = number;
        else if (strncmp(words[w], "training", 8) == 0)
            a.training = number != 0;
        else if (strncmp(words[w], "axis", 4) == 0)
            a.axis = number;
        else if (strncmp(words[w], "epsilon", 7) == 0)
            a.number = strtof(value + 1, NULL);
        else
            a.shape = shape_of(value + 1);
    }
    return a;
}

static sh_op op_of(const char *name)
{
    int op = 0;
    while (op < SH_OP_COUNT && strcmp(sh_op_about((sh_op)op)->name, name) != 0)
        op++;
    return (sh_op)op;
}

static sh_status run(const sh_graph *graph)
{
    const sh_kernels *kernels;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    SH_TRY(sh_kernels_choose(&kernels, NULL));
    SH_TRY(sh_program_compile(&program, graph, kernels));
    SH_TRY(sh_block_new(&lane, sh_program_lane_bytes(program), "an operator"));
    SH_TRY(sh_block_new(&shared, sh_program_shared_bytes(program), "an operator"));
    SH_TRY(sh_execution_new(&execution, program, lane, shared, NULL));
    for (size_t i = 0; i < graph->input_count; i++) {
        const size_t bytes = sh_type_bytes(sh_graph_type(graph, graph->inputs[i]));
        if (fread(sh_execution_input(execution, i), 1, bytes, stdin) != bytes)
            return sh_fail(SH_INVALID, "input %zu has %zu bytes", i, bytes);
    }
    SH_TRY(sh_execution_prepare(execution));
    SH_TRY(sh_execution_run(execution, NULL, NULL));
    const size_t bytes = sh_type_bytes(sh_graph_type(graph, graph->outputs[0]));
    if (fwrite(sh_execution_output(execution, 0), 1, bytes, stdout) != bytes)
        return sh_fail(SH_IO, "the output cannot be written");
    return SH_OK;
}

static sh_status compute(char **words, int count)
{
    sh_graph *graph;
    sh_value_id in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    const sh_op op = op_of(words[1]);
    const sh_attributes attributes = attributes_of(words + 3, count - 3);
    if (op == SH_OP_COUNT)
        return sh_fail(SH_INVALID, "no operator is called '%s'", words[1]);
    SH_TRY(sh_graph_new(&graph));
    for (int i = 0; i < SH_MAX_INPUTS; i++)
        in[i] = SH_NO_VALUE;
    const char *text = words[2];
    for (int i = 0; text != NULL && i < SH_MAX_INPUTS; i++) {
        in[i] = sh_graph_input(graph, (sh_type){SH_F32, shape_of(text)});
        text = strchr(text, ',');
        text = text == NULL ? NULL : text + 1;
    }
    sh_graph_add(graph, op, &attributes, in, out);
    sh_graph_output(graph, out[0]);
    SH_TRY(sh_graph_status(graph));
    return run(graph);
}

int main(int count, char **words)
{
    if (count < 3) {
        fprintf(stderr, "usage: bench_op_run OPERATOR SHAPE,SHAPE... [NAME=NUMBER...]\n");
        return 2;
    }
    if (compute(words, count) == SH_OK)
        return 0;
    fprintf(stderr, "bench_op_run: %s\n", sh_message());
    return 1;
}
