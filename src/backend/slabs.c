/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/slabs.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* The limit of a slab of rows, which only the next instruction reads. */
#define ROWS_BYTES ((size_t)1 << 18)

typedef struct touch {
    size_t group; /* the last group that touched it, from 1 */
    bool by_sample;
    bool made;
} touch;

/* A group under construction: instructions [first, end). */
typedef struct growth {
    sh_program *program;
    touch *touches; /* by buffer */
    size_t number;
    size_t first, end;
    size_t members, samples, least;
    bool rows;
    size_t sample_bytes;
} growth;

static bool goes_by_sample(const sh_instruction *instruction, uint32_t operand)
{
    return (instruction->samples.operands >> operand & 1) != 0;
}

/* Whether the instruction may run for a slab after the members have. */
static bool may_join(const growth *g, const sh_instruction *instruction)
{
    if (instruction->prepares || instruction->samples.count == 0 ||
        (g->members > 0 &&
         (instruction->samples.count != g->samples || instruction->samples.rows != g->rows)))
        return false;
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const touch *t = &g->touches[instruction->operands[i]];
        if (t->group == g->number && t->made && !(t->by_sample && goes_by_sample(instruction, i)))
            return false;
    }
    return true;
}

static void touch_operand(growth *g, size_t index, uint32_t operand, bool by_sample)
{
    const sh_buffer_id id = g->program->instructions[index].operands[operand];
    sh_buffer *buffer = &g->program->buffers[id];
    touch *t = &g->touches[id];
    if (t->group != g->number) {
        *t = (touch){.group = g->number, .by_sample = true, .made = buffer->first == index + 1};
        if (by_sample)
            g->sample_bytes += buffer->bytes / g->samples;
    }
    t->by_sample = t->by_sample && by_sample;
}

static void join(growth *g, size_t index)
{
    const sh_instruction *instruction = &g->program->instructions[index];
    g->samples = instruction->samples.count;
    g->rows = instruction->samples.rows;
    if (g->least < instruction->samples.least)
        g->least = instruction->samples.least;
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        touch_operand(g, index, i, goes_by_sample(instruction, i));
    g->members++;
    g->end = index + 1;
}

static bool is_sink(const sh_instruction *instruction)
{
    return instruction->kernel == NULL;
}

/* Conversions that touch nothing of the group may move before it. */
static bool may_precede(const growth *g, const sh_instruction *instruction)
{
    bool apart = instruction->prepares || instruction->work.kind == SH_WORK_REORDER;
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        apart = apart && g->touches[instruction->operands[i]].group != g->number;
    return apart;
}

static void grow(growth *g)
{
    const sh_program *program = g->program;
    for (size_t i = g->first; i < program->instruction_count; i++) {
        const sh_instruction *instruction = &program->instructions[i];
        if (i == program->backward && i > g->first)
            return; /* a clock may be read there */
        if (may_join(g, instruction))
            join(g, i);
        else if (g->members > 0 && is_sink(instruction))
            for (uint32_t k = 0; k < instruction->operand_count; k++)
                touch_operand(g, i, k, false);
        else if (g->members == 0 || !may_precede(g, instruction))
            return;
    }
}

static size_t round_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Records the group in its first member if it needs more than one slab. */
static void mark(const growth *g, size_t bytes)
{
    sh_program *program = g->program;
    size_t slab = (g->rows && bytes > ROWS_BYTES ? ROWS_BYTES : bytes) / (g->sample_bytes + 1);
    if (slab < g->least)
        slab = g->least;
    if (slab == 0)
        slab = 1;
    if (g->members < 2 || slab >= g->samples)
        return;
    const size_t even = round_up(g->samples, round_up(g->samples, slab));
    slab = even < g->least ? slab : even;
    program->instructions[g->first].group = (sh_group){
        .members = g->members, .rows = g->rows, .samples = g->samples, .slab = slab, .end = g->end};
    for (size_t i = g->first; i < g->end; i++)
        for (uint32_t k = 0; k < program->instructions[i].operand_count; k++) {
            const sh_buffer_id id = program->instructions[i].operands[k];
            sh_buffer *const buffer = &program->buffers[id];
            const touch *t = &g->touches[id];
            if (t->group != g->number)
                continue; /* only a conversion uses it */
            buffer->whole = buffer->whole || !t->by_sample;
            if (t->made && t->by_sample && buffer->last <= g->end)
                buffer->slab_bytes = buffer->bytes / g->samples * slab;
        }
}

sh_status sh_slabs_form(sh_program *program, size_t bytes)
{
    touch *const touches = calloc(program->buffer_count + 1, sizeof *touches);
    if (touches == NULL)
        return sh_fail_memory(program->buffer_count * sizeof *touches, "compiling a graph");
    for (size_t i = 0, number = 1; i < program->instruction_count; number++) {
        growth g = {.program = program, .touches = touches, .number = number, .first = i, .end = i};
        grow(&g);
        mark(&g, bytes);
        i = g.end > i ? g.end : i + 1;
    }
    free(touches);
    return SH_OK;
}

void sh_slabs_dissolve(sh_program *program)
{
    for (size_t i = 0; i < program->instruction_count; i++)
        program->instructions[i].group = (sh_group){0};
}

/* 0: before the members; 1: among them; 2: after them. */
static int turn_of(const sh_instruction *instruction, const sh_group *group)
{
    if (!instruction->prepares && instruction->samples.count == group->samples &&
        instruction->samples.rows == group->rows)
        return 1;
    return is_sink(instruction) ? 2 : 0;
}

static sh_status put_in_order(sh_program *program, size_t from)
{
    const sh_group group = program->instructions[from].group;
    const size_t count = group.end - from;
    sh_instruction *const to = program->instructions + from, *const old =
                                                                 malloc(count * sizeof *old);
    if (old == NULL)
        return sh_fail_memory(count * sizeof *old, "compiling a graph");
    to->group = (sh_group){0};
    memcpy(old, to, count * sizeof *old);
    for (size_t turn = 0, used = 0; turn < 3; turn++) {
        if (turn == 1)
            from += used;
        for (size_t i = 0; i < count; i++)
            if (turn_of(&old[i], &group) == (int)turn)
                to[used++] = old[i];
    }
    program->instructions[from].group = group;
    free(old);
    return SH_OK;
}

sh_status sh_slabs_arrange(sh_program *program)
{
    for (size_t i = 0; i < program->instruction_count; i++) {
        const sh_group group = program->instructions[i].group;
        if (group.members == 0)
            continue;
        SH_TRY(put_in_order(program, i));
        i = group.end - 1;
    }
    return SH_OK;
}

/* Extends blocks that begin or end in instructions (from, end] to all of these. */
static void stretch(sh_program *program, const sh_instruction *of, size_t from, size_t end)
{
    for (uint32_t k = 0; k < of->operand_count; k++) {
        sh_buffer *block = &program->buffers[program->buffers[of->operands[k]].block];
        if (block->first > from && block->first <= end)
            block->first = (uint32_t)from + 1;
        if (block->last > from && block->last <= end)
            block->last = (uint32_t)end;
    }
}

void sh_slabs_stretch(sh_program *program)
{
    for (size_t i = 0; i < program->instruction_count; i++) {
        const sh_group *group = &program->instructions[i].group;
        for (size_t m = i; group->members > 0 && m < group->end; m++)
            stretch(program, &program->instructions[m], i, group->end);
    }
}
