/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/lower/lowering.h"

#include <stdlib.h>
#include <string.h>

static const sh_lowering *const lowerings[SH_OP_COUNT] = {
#define SH_OP(name, ...) [SH_OP_##name] = &sh_lower_##name,
#include "graph/ops.def"
#undef SH_OP
};

/* Operands are inputs, outputs, scratch, in this order. */
typedef struct node_state {
    const sh_lowering *how;
    sh_op op;
    sh_attributes attributes;
    uint32_t input_count, output_count;
    bool channels_last;
    const sh_kernels *kernels;
    sh_type in_type[SH_MAX_INPUTS];
    sh_type out_type[SH_MAX_OUTPUTS];
} node_state;

/* By-sample operands have `samples` samples. */
static void slab_types(sh_type *types, const sh_type *whole, uint32_t count, uint32_t by_sample,
                       size_t samples)
{
    memcpy(types, whole, count * sizeof *types);
    for (uint32_t i = 0; i < count; i++)
        if ((by_sample >> i & 1) != 0)
            types[i].shape.dim[0] = samples;
}

static void run_node(const void *opaque, void *const *operands, const sh_slab *slab)
{
    const node_state *state = opaque;
    sh_type in_type[SH_MAX_INPUTS], out_type[SH_MAX_OUTPUTS];
    sh_call call = {
        .op = state->op,
        .attributes = &state->attributes,
        .in_type = state->in_type,
        .out_type = state->out_type,
        .in_count = state->input_count,
        .out_count = state->output_count,
        .in = operands,
        .out = operands + state->input_count,
        .scratch = operands[state->input_count + state->output_count],
        .channels_last = state->channels_last,
        .kernels = state->kernels,
        .slab = *slab,
    };
    if (slab->count < slab->samples) {
        const uint32_t by_sample = state->how->by_sample;
        slab_types(in_type, state->in_type, state->input_count, by_sample, slab->count);
        slab_types(out_type, state->out_type, state->output_count, by_sample >> SH_MAX_INPUTS,
                   slab->count);
        call.in_type = in_type;
        call.out_type = out_type;
    }
    call.elements = sh_shape_count(&call.in_type[0].shape);
    state->how->run(&call);
}

static const sh_kernel node_kernel = {.run = run_node, .release = free};

static sh_status gather_operands(sh_compiler *compiler, const sh_node *node, node_state *state,
                                 sh_buffer_id *operands)
{
    const sh_lowering *how = state->how;
    const bool channels_last = how->channels_last != NULL ? how->channels_last(compiler, node)
                               : how->layout == SH_LAYOUT_OF_FIRST
                                   ? sh_compiler_layout(compiler, node->in[0]).channels_last
                                   : how->layout == SH_LAYOUT_CHANNELS_LAST;
    uint32_t used = 0;
    state->channels_last = channels_last;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sh_type *type = &state->in_type[i];
        sh_layout layout = channels_last && type->shape.rank > 2 ? sh_layout_channels_last(type)
                                                                 : sh_layout_plain(type);
        if (how->input_layout != NULL)
            SH_TRY(how->input_layout(compiler, node, i, &layout));
        SH_TRY(sh_compiler_input(compiler, &operands[used++], node->in[i], &layout));
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        const sh_type *type = &state->out_type[i];
        const sh_layout layout = channels_last && type->shape.rank > 2 && !how->plain_outputs
                                     ? sh_layout_channels_last(type)
                                     : sh_layout_plain(type);
        SH_TRY(sh_compiler_output(compiler, &operands[used++], node->out[i], &layout));
    }
    for (uint32_t i = 0; i < node->input_count; i++)
        if ((sh_op_about(node->op)->def->over & SH_OVER(i)) != 0 &&
            sh_type_equal(&state->in_type[i], &state->out_type[0]))
            sh_compiler_may_overwrite(compiler, operands[node->input_count], operands[i]);
    const size_t scratch =
        how->scratch_bytes == NULL
            ? 0
            : how->scratch_bytes(&state->attributes, state->in_type, state->out_type);
    return sh_compiler_scratch(compiler, &operands[used], scratch);
}

bool sh_any_channels_last(const sh_compiler *compiler, const sh_node *node)
{
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; i++)
        any |= sh_compiler_layout(compiler, node->in[i]).channels_last;
    return any;
}

static sh_samples samples_of(const node_state *state)
{
    const sh_lowering *how = state->how;
    const uint32_t inputs = how->by_sample & (SH_IN(state->input_count) - 1);
    const sh_op_def *def = sh_op_about(state->op)->def;
    if (how->by_row)
        return (sh_samples){.count = state->out_type[0].shape.dim[0],
                            .rows = true,
                            .operands = UINT32_C(1) << state->input_count};
    if (inputs == 0 || (def->gives_bias && !state->attributes.no_bias))
        return (sh_samples){0};
    return (sh_samples){
        .count = state->in_type[0].shape.dim[0],
        .least =
            how->least_samples == NULL ? 0 : how->least_samples(&state->attributes, state->in_type),
        .operands = inputs | how->by_sample >> SH_MAX_INPUTS << state->input_count,
    };
}

sh_status sh_lower_node(sh_compiler *compiler, const sh_node *node)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    sh_buffer_id operands[SH_MAX_OPERANDS];
    if (lowerings[node->op]->alias) {
        SH_TRY(sh_compiler_input(compiler, &operands[0], node->in[0], NULL));
        return sh_compiler_alias(compiler, node->out[0], operands[0]);
    }
    node_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return sh_fail_memory(sizeof *state, "a kernel");
    *state = (node_state){.how = lowerings[node->op],
                          .op = node->op,
                          .kernels = sh_compiler_kernels(compiler),
                          .attributes = node->attributes,
                          .input_count = node->input_count,
                          .output_count = node->output_count};
    for (uint32_t i = 0; i < node->input_count; i++)
        state->in_type[i] = *sh_graph_type(graph, node->in[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
        state->out_type[i] = *sh_graph_type(graph, node->out[i]);
    const sh_status status = gather_operands(compiler, node, state, operands);
    if (status != SH_OK) {
        free(state);
        return status;
    }
    return sh_compiler_emit(compiler, &node_kernel, state, operands,
                            state->input_count + state->output_count + 1, samples_of(state));
}

sh_status sh_packing_new(sh_packing **packing, sh_compiler *compiler, size_t count)
{
    sh_packing *fresh = sh_compiler_take(compiler, sizeof *fresh);
    sh_matrix *matrices = sh_compiler_take(compiler, count * sizeof *matrices);
    if (fresh == NULL || matrices == NULL)
        return sh_fail_memory(count * sizeof *matrices, "the packing of weights");
    *fresh = (sh_packing){.count = count, .matrices = matrices};
    *packing = fresh;
    return SH_OK;
}
