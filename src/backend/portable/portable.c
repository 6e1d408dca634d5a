/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/portable/portable.h"

#include <cblas.h>
#include <stdlib.h>

#include "backend/compiler.h"

static const sh_portable_def *const definitions[SH_OP_COUNT] = {
#define SH_OP(name, inputs, outputs, summary) [SH_OP_##name] = &sh_portable_##name,
#include "graph/ops.def"
#undef SH_OP
};

/* A node as compiled: operands are inputs, outputs, scratch, in this order. */
typedef struct node_state {
    sh_attributes attributes;
    sh_type in_type[SH_MAX_INPUTS];
    sh_type out_type[SH_MAX_OUTPUTS];
    sh_portable_call call; /* on the above, without operands */
} node_state;

static void run_node(const void *opaque, void *const *operands)
{
    sh_portable_call call = ((const node_state *)opaque)->call;
    call.in = operands;
    call.out = operands + call.in_count;
    call.scratch = operands[call.in_count + call.out_count];
    definitions[call.op]->run(&call);
}

static node_state *describe_node(const sh_graph *graph, const sh_node *node)
{
    node_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->attributes = node->attributes;
    for (uint32_t i = 0; i < node->input_count; i++)
        state->in_type[i] = *sh_graph_type(graph, node->in[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
        state->out_type[i] = *sh_graph_type(graph, node->out[i]);
    state->call = (sh_portable_call){
        .op = node->op,
        .attributes = &state->attributes,
        .in_type = state->in_type,
        .out_type = state->out_type,
        .in_count = node->input_count,
        .out_count = node->output_count,
    };
    return state;
}

/* Operands in the layout that the kernel works in: plain, or that of the first input. */
static sh_status gather_operands(sh_compiler *compiler, const sh_node *node, sh_portable_call *call,
                                 sh_buffer_id *operands)
{
    const sh_portable_def *def = definitions[node->op];
    const sh_layout first = sh_compiler_layout(compiler, node->in[0]);
    const sh_layout plain = sh_compiler_plain(compiler, node->in[0]);
    const bool suits = def->any_layout || (def->any_full_layout && first.bytes == plain.bytes);
    const sh_layout *layout = suits ? &first : NULL;
    uint32_t used = 0;
    for (uint32_t i = 0; i < node->input_count; i++)
        SH_TRY(sh_compiler_input(compiler, &operands[used++], node->in[i], layout));
    for (uint32_t i = 0; i < node->output_count; i++)
        SH_TRY(sh_compiler_output(compiler, &operands[used++], node->out[i], layout));
    for (uint32_t i = 0; i < node->input_count; i++)
        if ((sh_op_about(node->op)->def->over & SH_OVER(i)) != 0)
            sh_compiler_may_overwrite(compiler, operands[node->input_count], operands[i]);
    call->elements = (suits ? first : plain).bytes / sh_dtype_bytes(call->in_type[0].dtype);
    const size_t scratch = def->scratch_bytes == NULL ? 0 : def->scratch_bytes(call);
    return sh_compiler_scratch(compiler, &operands[used], scratch);
}

static sh_status compile(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel kernel = {.run = run_node, .release = free};
    sh_buffer_id operands[SH_MAX_OPERANDS];
    *taken = true;
    if (definitions[node->op]->alias) {
        SH_TRY(sh_compiler_input(compiler, &operands[0], node->in[0], NULL));
        return sh_compiler_alias(compiler, node->out[0], operands[0]);
    }
    node_state *state = describe_node(sh_compiler_graph(compiler), node);
    if (state == NULL)
        return sh_fail_memory(sizeof *state, "a kernel");
    const sh_status status = gather_operands(compiler, node, &state->call, operands);
    if (status != SH_OK) {
        free(state);
        return status;
    }
    return sh_compiler_emit(compiler, &kernel, state, operands,
                            node->input_count + node->output_count + 1);
}

static bool available(void)
{
    return true;
}

/* Lanes are the parallelism; the library must not add threads of its own. */
static void enter_thread(void)
{
    openblas_set_num_threads(1);
}

/* OpenBLAS packs the panels that it multiplies into a buffer of each thread: 0.2 to 0.7 MiB, with
 * the thread's heap. */
const sh_backend sh_portable_backend = {
    .name = "portable",
    .available = available,
    .enter_thread = enter_thread,
    .thread_bytes = (size_t)448 << 10,
    .compile = compile,
};
