/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The *homes* of a value are the buffers that hold it, one for each requested layout. An
 * instruction *prepares* if all its inputs depend on weights alone: it runs once after the weights
 * have changed, and all lanes share its results. Other values are in lane memory, where buffers
 * with disjoint lifetimes share bytes (graph/memory_plan.h).
 *
 * The sink of a gradient directly follows the node that makes it, so that the gradient can be sent,
 * and its buffer reused, while earlier layers are computed.
 */
#include "backend/compiler.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/lower/lowering.h"
#include "backend/program_impl.h"
#include "backend/slabs.h"
#include "graph/memory_plan.h"

#define MAX_HOMES 4
#define MEMORY_FOR_GROUPS 32 /* at most 1 / 32 more memory */
#define FOREVER UINT32_MAX

typedef struct home {
    sh_layout layout;
    sh_buffer_id buffer;
} home;

typedef struct value_homes {
    home items[MAX_HOMES];
    uint32_t count;
} value_homes;

struct sh_compiler {
    const sh_graph *graph;
    sh_program *program;
    size_t slab_bytes;
    bool at_any_cost; /* forms groups whatever memory they take */
    const sh_kernels *kernels;
    sh_prepared *prepared;
    value_homes *homes;     /* by value */
    uint32_t node;          /* current, or SH_NO_NODE */
    sh_value_id converting; /* or SH_NO_VALUE */
};

const sh_graph *sh_compiler_graph(const sh_compiler *compiler)
{
    return compiler->graph;
}

const sh_kernels *sh_compiler_kernels(const sh_compiler *compiler)
{
    return compiler->kernels;
}

static sh_layout plain_layout(const sh_compiler *compiler, sh_value_id value)
{
    return sh_layout_plain(sh_graph_type(compiler->graph, value));
}

sh_layout sh_compiler_layout(const sh_compiler *compiler, sh_value_id value)
{
    assert(compiler->homes[value].count > 0);
    return compiler->homes[value].items[0].layout;
}

void *sh_compiler_take(sh_compiler *compiler, size_t bytes)
{
    return sh_arena_take(sh_prepared_descriptions(compiler->prepared), 1, bytes);
}

static sh_status new_buffer(sh_compiler *compiler, sh_buffer_id *id, sh_buffer buffer)
{
    sh_program *program = compiler->program;
    SH_TRY(sh_array_grow((void **)&program->buffers, &program->buffer_capacity,
                         program->buffer_count + 1, sizeof *program->buffers));
    buffer.block = (sh_buffer_id)program->buffer_count;
    program->buffers[program->buffer_count] = buffer;
    *id = (sh_buffer_id)program->buffer_count++;
    return SH_OK;
}

static sh_status add_home(sh_compiler *compiler, sh_value_id value, sh_layout layout,
                          sh_buffer_id buffer)
{
    value_homes *homes = &compiler->homes[value];
    if (homes->count == MAX_HOMES)
        return sh_fail(SH_INTERNAL, "value %u is needed in more than %d layouts", value, MAX_HOMES);
    homes->items[homes->count++] = (home){layout, buffer};
    return SH_OK;
}

typedef struct conversion {
    const sh_kernels *kernels;
    sh_type type;
    sh_layout from, to;
    sh_packing packing;
    sh_matrix matrices[];
} conversion;

static void run_conversion(const void *state, void *const *operands, const sh_slab *slab)
{
    (void)slab;
    const conversion *c = state;
    sh_layout_convert(c->kernels, &c->type, &c->from, operands[0], &c->to, operands[1]);
}

/* Adds a home in `layout`, converted from the first home; a packed one from a plain one. */
static sh_status convert(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                         const sh_layout *layout)
{
    static const sh_kernel kernel = {.run = run_conversion, .release = free};
    home source = compiler->homes[value].items[0];
    if (layout->packing != NULL && source.layout.channels_last) {
        source.layout = plain_layout(compiler, value);
        SH_TRY(sh_compiler_input(compiler, &source.buffer, value, NULL));
    }
    const sh_value_id outer = compiler->converting;
    const size_t count = layout->packing == NULL ? 0 : layout->packing->count;
    const size_t bytes = sizeof(conversion) + count * sizeof(sh_matrix);
    conversion *state = calloc(1, bytes);
    if (state == NULL)
        return sh_fail_memory(bytes, "a conversion");
    state->kernels = compiler->kernels;
    state->type = *sh_graph_type(compiler->graph, value);
    state->from = source.layout;
    state->to = *layout;
    if (count > 0) {
        memcpy(state->matrices, layout->packing->matrices, count * sizeof(sh_matrix));
        state->packing = *layout->packing;
        state->packing.matrices = state->matrices;
        state->to.packing = &state->packing;
    }
    const sh_status status = sh_compiler_output(compiler, buffer, value, layout);
    if (status != SH_OK) {
        free(state);
        return status;
    }
    compiler->converting = value;
    SH_TRY(sh_compiler_emit(compiler, &kernel, state, (sh_buffer_id[]){source.buffer, *buffer}, 2,
                            (sh_samples){0}));
    compiler->converting = outer;
    return SH_OK;
}

sh_status sh_compiler_input(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                            const sh_layout *layout)
{
    const sh_layout plain = plain_layout(compiler, value);
    const sh_layout *wanted = layout == NULL ? &plain : layout;
    value_homes *homes = &compiler->homes[value];
    const uint32_t count = homes->count;
    assert(count > 0 && compiler->program->buffers != NULL);
    for (uint32_t i = 0; i < count; i++)
        if (sh_layout_same(&homes->items[i].layout, wanted)) {
            *buffer = homes->items[i].buffer;
            return SH_OK;
        }
    SH_TRY(convert(compiler, buffer, value, wanted));
    const sh_buffer *first = &compiler->program->buffers[homes->items[0].buffer];
    if (first->space == SH_SPACE_PARAMETER && sh_prepared_on_demand(compiler->prepared))
        homes->count = count; /* this conversion is for one reader */
    return SH_OK;
}

sh_status sh_compiler_output(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                             const sh_layout *layout)
{
    const sh_layout made = layout == NULL ? plain_layout(compiler, value) : *layout;
    sh_buffer_id fresh;
    SH_TRY(new_buffer(compiler, &fresh, (sh_buffer){.space = SH_SPACE_LANE, .bytes = made.bytes}));
    SH_TRY(add_home(compiler, value, made, fresh));
    *buffer = fresh;
    return SH_OK;
}

sh_status sh_compiler_alias(sh_compiler *compiler, sh_value_id value, sh_buffer_id buffer)
{
    return add_home(compiler, value, plain_layout(compiler, value), buffer);
}

void sh_compiler_may_overwrite(sh_compiler *compiler, sh_buffer_id out, sh_buffer_id in)
{
    sh_buffer *buffer = &compiler->program->buffers[out];
    assert(buffer->over_count < SH_MAX_OVERWRITES);
    buffer->over[buffer->over_count++] = in;
}

sh_status sh_compiler_scratch(sh_compiler *compiler, sh_buffer_id *buffer, size_t bytes)
{
    return new_buffer(compiler, buffer, (sh_buffer){.scratch = true, .made = true, .bytes = bytes});
}

/* Whether all inputs depend on weights alone; false without inputs. */
static bool reads_weights_only(const sh_program *program, const sh_buffer_id *operands,
                               size_t count)
{
    bool reads = false;
    for (size_t i = 0; i < count; i++) {
        const sh_buffer *buffer = &program->buffers[operands[i]];
        if (!buffer->made || buffer->scratch)
            continue;
        reads = true;
        if (buffer->space == SH_SPACE_LANE)
            return false;
    }
    return reads;
}

static sh_status append(sh_program *program, const sh_instruction *instruction)
{
    SH_TRY(sh_array_grow((void **)&program->instructions, &program->instruction_capacity,
                         program->instruction_count + 1, sizeof *program->instructions));
    program->instructions[program->instruction_count++] = *instruction;
    const uint32_t now = (uint32_t)program->instruction_count;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        sh_buffer *buffer = &program->buffers[instruction->operands[i]];
        if (buffer->scratch && instruction->prepares)
            continue; /* at time 0, when inputs may be in memory already */
        if (!buffer->made && instruction->prepares)
            buffer->space = SH_SPACE_SHARED;
        else if (instruction->prepares && buffer->space == SH_SPACE_SHARED)
            program->chained = true;
        if (!buffer->made || buffer->scratch)
            buffer->first = now;
        if (buffer->last < now)
            buffer->last = now;
        buffer->made = true;
    }
    return SH_OK;
}

static sh_work describe_work(const sh_compiler *compiler)
{
    sh_work work = {.kind = SH_WORK_REORDER,
                    .node = compiler->node,
                    .value = compiler->converting,
                    .layout = "plain"};
    if (work.value != SH_NO_VALUE || work.node == SH_NO_NODE)
        return work;
    work.kind = SH_WORK_NODE;
    for (size_t i = compiler->program->instruction_count; i > 0 && !work.continues; i--) {
        const sh_work *before = &compiler->program->instructions[i - 1].work;
        if (before->node != work.node)
            break;
        work.continues = before->kind == SH_WORK_NODE;
    }
    work.value = compiler->graph->nodes[work.node].out[0];
    const value_homes *homes = &compiler->homes[work.value];
    if (homes->count > 0 && homes->items[0].layout.channels_last)
        work.layout = "channels-last";
    return work;
}

sh_status sh_compiler_emit(sh_compiler *compiler, const sh_kernel *kernel, void *state,
                           const sh_buffer_id *operands, size_t count, sh_samples samples)
{
    assert(count <= SH_MAX_OPERANDS);
    sh_instruction instruction = {
        .kernel = kernel,
        .state = state,
        .prepares = !sh_prepared_on_demand(compiler->prepared) &&
                    reads_weights_only(compiler->program, operands, count),
        .parameter = SH_NO_PARAMETER,
        .work = describe_work(compiler),
        .samples = samples,
        .operand_count = (uint32_t)count,
    };
    for (size_t i = 0; i < count; i++)
        instruction.operands[i] = operands[i];
    const sh_status status = append(compiler->program, &instruction);
    if (status != SH_OK && kernel->release != NULL)
        kernel->release(state);
    return status;
}

static sh_status place_given_values(sh_compiler *compiler)
{
    const sh_graph *graph = compiler->graph;
    sh_program *program = compiler->program;
    for (size_t i = 0; i < graph->input_count; i++) {
        const sh_layout plain = plain_layout(compiler, graph->inputs[i]);
        SH_TRY(new_buffer(compiler, &program->inputs[i],
                          (sh_buffer){.made = true, .bytes = plain.bytes}));
        SH_TRY(add_home(compiler, graph->inputs[i], plain, program->inputs[i]));
    }
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_layout plain = plain_layout(compiler, graph->parameters[i].value);
        const sh_buffer weights = {
            .space = SH_SPACE_PARAMETER, .made = true, .bytes = plain.bytes, .place = i};
        sh_buffer_id buffer;
        SH_TRY(new_buffer(compiler, &buffer, weights));
        SH_TRY(add_home(compiler, graph->parameters[i].value, plain, buffer));
    }
    return SH_OK;
}

static bool has_operand(const sh_instruction *instruction, sh_buffer_id buffer)
{
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i] == buffer)
            return true;
    return false;
}

/*
 * If the instruction before the sink is a dense layer's product of plain operands, these become
 * operands of the sink too, so that they live until then.
 */
static sh_status note_product(sh_compiler *compiler, sh_instruction *sink)
{
    const sh_program *program = compiler->program;
    if (compiler->node == SH_NO_NODE || program->instruction_count == 0)
        return SH_OK;
    const sh_node *node = &compiler->graph->nodes[compiler->node];
    const size_t maker = program->instruction_count - 1;
    if (node->op != SH_OP_linear_grad_weight || node->out[0] != sink->work.value)
        return SH_OK;
    for (uint32_t i = 0; i < 2; i++) {
        SH_TRY(sh_compiler_input(compiler, &sink->operands[1 + i], node->in[i], NULL));
        if (!has_operand(&program->instructions[maker], sink->operands[1 + i]))
            return SH_OK;
    }
    if (program->instruction_count - 1 != maker ||
        !has_operand(&program->instructions[maker], sink->operands[0]))
        return SH_OK;
    sink->operand_count = 3;
    sink->multiplies = true;
    return SH_OK;
}

static sh_samples rows_of(const sh_program *program, sh_buffer_id gradient)
{
    if (program->instruction_count == 0)
        return (sh_samples){0};
    const sh_instruction *maker = &program->instructions[program->instruction_count - 1];
    for (uint32_t i = 0; i < maker->operand_count && maker->samples.rows; i++)
        if (maker->operands[i] == gradient && (maker->samples.operands >> i & 1) != 0)
            return (sh_samples){.count = maker->samples.count, .rows = true, .operands = 1};
    return (sh_samples){0};
}

static sh_status emit_sinks(sh_compiler *compiler, sh_value_id value)
{
    const sh_graph *graph = compiler->graph;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        if (graph->parameters[i].gradient != value)
            continue;
        sh_instruction sink = {
            .parameter = (uint32_t)i,
            .work = {.kind = SH_WORK_SINK,
                     .node = compiler->node,
                     .value = value,
                     .layout = "plain"},
            .operand_count = 1,
        };
        SH_TRY(sh_compiler_input(compiler, &sink.operands[0], value, NULL));
        sink.samples = rows_of(compiler->program, sink.operands[0]);
        SH_TRY(note_product(compiler, &sink));
        SH_TRY(append(compiler->program, &sink));
    }
    return SH_OK;
}

static sh_status compile_node(sh_compiler *compiler, const sh_node *node)
{
    SH_TRY(sh_lower_node(compiler, node));
    for (uint32_t output = 0; output < node->output_count; output++)
        SH_TRY(emit_sinks(compiler, node->out[output]));
    return SH_OK;
}

/*
 * Puts a buffer that instruction `now` writes into the block of one that it may overwrite and that
 * is not read later.
 */
static void share_block(sh_program *program, sh_buffer *out, uint32_t now)
{
    if (out->space != SH_SPACE_LANE || out->first != now)
        return;
    for (uint32_t i = 0; i < out->over_count; i++) {
        const sh_buffer *in = &program->buffers[out->over[i]];
        sh_buffer *block = &program->buffers[in->block];
        if (in->space != SH_SPACE_LANE || block->last != now || block->last_reused_at == now ||
            block->bytes < out->bytes || in->whole || block->slab_bytes != out->slab_bytes)
            continue;
        out->block = in->block;
        block->last_reused_at = now;
        block->last = out->last;
        return;
    }
}

static size_t held_bytes(const sh_buffer *buffer)
{
    return buffer->slab_bytes > 0 ? buffer->slab_bytes : buffer->bytes;
}

static sh_status place_in_lane(sh_program *program)
{
    size_t count = 0;
    sh_buffer *buffers = program->buffers;
    if (buffers == NULL) /* an empty graph */
        return SH_OK;
    sh_block_plan *plan = calloc(program->buffer_count + 1, sizeof *plan);
    if (plan == NULL)
        return sh_fail_memory(program->buffer_count * sizeof *plan, "the memory plan");
    for (size_t i = 0; i < program->buffer_count; i++)
        if (buffers[i].space == SH_SPACE_LANE && buffers[i].block == i)
            plan[count++] = (sh_block_plan){.bytes = held_bytes(&buffers[i]),
                                            .first = buffers[i].first,
                                            .last = buffers[i].last};
    const sh_status status = sh_memory_plan(&program->lane_bytes, plan, count);
    for (size_t i = 0, next = 0; status == SH_OK && i < program->buffer_count; i++)
        if (buffers[i].space == SH_SPACE_LANE)
            buffers[i].place =
                buffers[i].block == i ? plan[next++].offset : buffers[buffers[i].block].place;
    free(plan);
    return status;
}

static sh_status share_and_place(sh_program *program)
{
    for (size_t i = 0; i < program->instruction_count; i++)
        for (uint32_t j = 0; j < program->instructions[i].operand_count; j++)
            share_block(program, &program->buffers[program->instructions[i].operands[j]],
                        (uint32_t)i + 1);
    sh_slabs_stretch(program);
    return place_in_lane(program);
}

/* Forms groups if they take little more memory, or no more if weights are prepared on demand. */
static sh_status lay_out(sh_compiler *compiler)
{
    sh_program *program = compiler->program;
    const size_t bytes = program->buffer_count * sizeof *program->buffers;
    sh_buffer *const alone = malloc(bytes + 1);
    sh_status status;
    if (alone == NULL)
        return sh_fail_memory(bytes, "compiling a graph");
    if (bytes > 0)
        memcpy(alone, program->buffers, bytes);
    SH_TRY_DONE(share_and_place(program));
    const size_t least = program->lane_bytes;
    const size_t spare = sh_prepared_on_demand(compiler->prepared) ? 0 : least / MEMORY_FOR_GROUPS;
    for (int grouped = 1; grouped >= 0; grouped--) {
        if (bytes > 0)
            memcpy(program->buffers, alone, bytes);
        if (grouped == 1)
            SH_TRY_DONE(sh_slabs_form(program, compiler->slab_bytes));
        else
            sh_slabs_dissolve(program);
        SH_TRY_DONE(share_and_place(program));
        if (program->lane_bytes <= least + spare || compiler->at_any_cost)
            break;
    }
    SH_TRY_DONE(sh_slabs_arrange(program));
done:
    free(alone);
    return status;
}

static sh_status place_in_shared(sh_compiler *compiler)
{
    const sh_graph *graph = compiler->graph;
    sh_program *program = compiler->program;
    for (size_t i = 0; i < program->buffer_count; i++)
        program->buffers[i].placed = program->buffers[i].space != SH_SPACE_SHARED;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const value_homes *homes = &compiler->homes[graph->parameters[i].value];
        for (uint32_t j = 1; j < homes->count; j++) {
            sh_buffer *buffer = &program->buffers[homes->items[j].buffer];
            SH_TRY(sh_prepared_place(compiler->prepared, &buffer->place, &buffer->place_number,
                                     (uint32_t)i, &homes->items[j].layout));
            buffer->placed = true;
        }
    }
    for (size_t i = 0; i < program->buffer_count; i++)
        if (!program->buffers[i].placed)
            program->buffers[i].place =
                sh_prepared_append(compiler->prepared, program->buffers[i].bytes);
    program->shared_bytes = sh_prepared_bytes(compiler->prepared);
    return SH_OK;
}

static sh_status compile_all(sh_compiler *compiler)
{
    const sh_graph *graph = compiler->graph;
    sh_program *program = compiler->program;
    compiler->homes = calloc(graph->value_count + 1, sizeof *compiler->homes);
    program->inputs = calloc(graph->input_count + 1, sizeof *program->inputs);
    program->outputs = calloc(graph->output_count + 1, sizeof *program->outputs);
    if (compiler->homes == NULL || program->inputs == NULL || program->outputs == NULL)
        return sh_fail_memory(graph->value_count * sizeof *compiler->homes, "compiling a graph");
    program->input_count = graph->input_count;
    program->output_count = graph->output_count;

    SH_TRY(place_given_values(compiler));
    for (size_t i = 0; i < graph->input_count; i++)
        SH_TRY(emit_sinks(compiler, graph->inputs[i]));
    for (size_t i = 0; i < graph->node_count; i++) {
        compiler->node = (uint32_t)i;
        if (i == graph->forward_count)
            program->backward = program->instruction_count;
        SH_TRY(sh_fail_in(compile_node(compiler, &graph->nodes[i]), "compiling node %zu (%s)", i,
                          sh_op_about(graph->nodes[i].op)->name));
    }
    compiler->node = SH_NO_NODE;
    for (size_t i = 0; i < graph->output_count; i++) {
        SH_TRY(sh_compiler_input(compiler, &program->outputs[i], graph->outputs[i], NULL));
        program->buffers[program->outputs[i]].last = FOREVER;
    }
    if (graph->forward_count == 0)
        program->backward = program->instruction_count;
    while (program->backward < program->instruction_count &&
           program->instructions[program->backward].prepares)
        program->backward++;
    SH_TRY(lay_out(compiler));
    return place_in_shared(compiler);
}

static sh_status compile(sh_program **program, sh_compiler *compiler)
{
    SH_TRY(sh_graph_verify(compiler->graph));
    sh_program *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a program");
    compiler->program = fresh;
    compiler->node = SH_NO_NODE;
    compiler->converting = SH_NO_VALUE;
    const sh_status status = compile_all(compiler);
    free(compiler->homes);
    if (status != SH_OK) {
        sh_program_free(fresh);
        return status;
    }
    *program = fresh;
    return SH_OK;
}

sh_status sh_program_compile_with(sh_program **program, const sh_graph *graph,
                                  const sh_kernels *kernels, sh_prepared *prepared)
{
    return compile(program, &(sh_compiler){.graph = graph,
                                           .kernels = kernels,
                                           .prepared = prepared,
                                           .slab_bytes = SH_SLAB_BYTES});
}

sh_status sh_program_compile_in_slabs(sh_program **program, const sh_graph *graph,
                                      const sh_kernels *kernels, sh_prepared *prepared,
                                      size_t slab_bytes)
{
    return compile(program, &(sh_compiler){.graph = graph,
                                           .kernels = kernels,
                                           .prepared = prepared,
                                           .slab_bytes = slab_bytes,
                                           .at_any_cost = true});
}

sh_status sh_program_compile(sh_program **program, const sh_graph *graph, const sh_kernels *kernels)
{
    sh_prepared *prepared;
    SH_TRY(sh_prepared_new(&prepared, false));
    const sh_status status = sh_program_compile_with(program, graph, kernels, prepared);
    sh_prepared_free(prepared);
    return status;
}
