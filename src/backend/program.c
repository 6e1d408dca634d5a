/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/program.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/program_impl.h"

struct sh_execution {
    const sh_program *program;
    unsigned char *lane_memory;
    unsigned char *shared_memory;
    float *const *parameters;
    void **operands;       /* SH_MAX_OPERANDS each */
    const sh_clock *clock; /* NULL: not timed */
    sh_work_time *times;   /* by instruction; NULL if not timed */
    const sh_clock *mark;  /* NULL: the start of backward is not timed */
    uint64_t marked_ns;
    const atomic_bool *interrupt;  /* NULL: runs are not interrupted */
    atomic_uint_fast64_t progress; /* written only by the lane */
};

void sh_program_free(sh_program *program)
{
    if (program == NULL)
        return;
    for (size_t i = 0; i < program->instruction_count; i++) {
        const sh_instruction *instruction = &program->instructions[i];
        if (instruction->kernel != NULL && instruction->kernel->release != NULL)
            instruction->kernel->release(instruction->state);
    }
    free(program->instructions);
    free(program->buffers);
    free(program->inputs);
    free(program->outputs);
    free(program);
}

size_t sh_program_lane_bytes(const sh_program *program)
{
    return program->lane_bytes;
}

size_t sh_program_shared_bytes(const sh_program *program)
{
    return program->shared_bytes;
}

static void *address(const sh_execution *execution, sh_buffer_id id)
{
    const sh_buffer *buffer = &execution->program->buffers[id];
    switch (buffer->space) {
    case SH_SPACE_LANE:
        return execution->lane_memory + buffer->place;
    case SH_SPACE_SHARED:
        return execution->shared_memory + buffer->place;
    case SH_SPACE_PARAMETER:
        return execution->parameters[buffer->place];
    }
    return NULL;
}

sh_status sh_execution_new(sh_execution **execution, const sh_program *program, void *lane_memory,
                           void *shared_memory, float *const *parameters)
{
    const size_t slots = program->instruction_count + 1;
    sh_execution *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "an execution");
    *fresh = (sh_execution){
        .program = program,
        .lane_memory = lane_memory,
        .shared_memory = shared_memory,
        .parameters = parameters,
        .operands = calloc(slots * SH_MAX_OPERANDS, sizeof *fresh->operands),
    };
    sh_status status = SH_OK;
    if (fresh->operands == NULL)
        SH_TRY_DONE(sh_fail_memory(slots * SH_MAX_OPERANDS * sizeof(void *), "an execution"));
    for (size_t i = 0; i < program->instruction_count; i++) {
        const sh_instruction *instruction = &program->instructions[i];
        void **operands = fresh->operands + i * SH_MAX_OPERANDS;
        for (uint32_t j = 0; j < instruction->operand_count; j++)
            operands[j] = address(fresh, instruction->operands[j]);
    }
    *execution = fresh;
    fresh = NULL;
done:
    sh_execution_free(fresh);
    return status;
}

void sh_execution_free(sh_execution *execution)
{
    if (execution == NULL)
        return;
    free(execution->operands);
    free(execution->times);
    free(execution);
}

void *sh_execution_input(const sh_execution *execution, size_t index)
{
    return address(execution, execution->program->inputs[index]);
}

const void *sh_execution_output(const sh_execution *execution, size_t index)
{
    return address(execution, execution->program->outputs[index]);
}

size_t sh_program_length(const sh_program *program)
{
    return program->instruction_count;
}

sh_work sh_program_work(const sh_program *program, size_t instruction)
{
    const sh_instruction *of = &program->instructions[instruction];
    sh_work work = of->work;
    work.prepares = of->prepares;
    for (uint32_t i = 0; i < of->operand_count; i++)
        if (!program->buffers[of->operands[i]].scratch)
            work.bytes += program->buffers[of->operands[i]].bytes;
    return work;
}

sh_status sh_execution_watch(sh_execution *execution, const sh_clock *clock)
{
    const size_t count = execution->program->instruction_count + 1;
    sh_work_time *times = calloc(count, sizeof *times);
    if (times == NULL)
        return sh_fail_memory(count * sizeof *times, "timing a program");
    free(execution->times);
    execution->times = times;
    execution->clock = clock;
    return SH_OK;
}

void sh_execution_mark(sh_execution *execution, const sh_clock *clock)
{
    execution->mark = clock;
}

void sh_execution_interrupt_by(sh_execution *execution, const atomic_bool *flag)
{
    execution->interrupt = flag;
}

uint64_t sh_execution_marked_ns(const sh_execution *execution)
{
    return execution->marked_ns;
}

const sh_work_time *sh_execution_times(const sh_execution *execution)
{
    return execution->times;
}

void sh_execution_clear_times(sh_execution *execution)
{
    if (execution->times != NULL)
        memset(execution->times, 0,
               execution->program->instruction_count * sizeof *execution->times);
}

uint64_t sh_execution_progress(const sh_execution *execution)
{
    return atomic_load_explicit(&execution->progress, memory_order_relaxed);
}

/* There is one writer, so no atomic addition is needed. */
static void note_progress(sh_execution *execution)
{
    const uint64_t before = atomic_load_explicit(&execution->progress, memory_order_relaxed);
    atomic_store_explicit(&execution->progress, before + 1, memory_order_relaxed);
}

typedef struct run {
    sh_execution *execution;
    sh_gradient_sink *sink;
    void *context;
    const atomic_bool *interrupt;
    uint64_t begun_ns;
} run;

static bool is_interrupted(const run *r)
{
    return r->interrupt != NULL && atomic_load_explicit(r->interrupt, memory_order_relaxed);
}

static void run_instruction(const run *r, const sh_instruction *instruction, void *const *operands,
                            const sh_slab *slab)
{
    note_progress(r->execution);
    if (instruction->kernel != NULL) {
        instruction->kernel->run(instruction->state, operands, slab);
        return;
    }
    if (r->sink == NULL)
        return;
    const sh_buffer *buffer = &r->execution->program->buffers[instruction->operands[0]];
    const size_t elements = buffer->bytes / sizeof(float);
    sh_gradient gradient = {.values = operands[0], .count = elements, .last = true};
    if (slab->samples > 0) {
        gradient.first = elements / slab->samples * slab->first;
        gradient.count = elements / slab->samples * slab->count;
        gradient.last = slab->first + slab->count == slab->samples;
    }
    r->sink(r->context, instruction->parameter, &gradient);
}

static void run_whole(const run *r, size_t index)
{
    const sh_instruction *instruction = &r->execution->program->instructions[index];
    const size_t samples = instruction->samples.count;
    run_instruction(r, instruction, r->execution->operands + index * SH_MAX_OPERANDS,
                    &(sh_slab){0, samples, samples});
}

static void run_slab(const run *r, size_t index, const sh_slab *slab)
{
    const sh_program *program = r->execution->program;
    const sh_instruction *instruction = &program->instructions[index];
    void *const *operands = r->execution->operands + index * SH_MAX_OPERANDS;
    void *moved[SH_MAX_OPERANDS];
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        const sh_buffer *buffer = &program->buffers[instruction->operands[i]];
        const bool by_sample = (instruction->samples.operands >> i & 1) != 0;
        const size_t step =
            by_sample && buffer->slab_bytes == 0 ? buffer->bytes / slab->samples : 0;
        moved[i] = (unsigned char *)operands[i] + slab->first * step;
    }
    run_instruction(r, instruction, moved, slab);
}

/* Distributes instructions over the parts by the number of the place that they write, which is the
 * same in all programs of a model. */
static bool is_of_part(const sh_program *program, const sh_instruction *instruction, uint32_t part,
                       uint32_t parts)
{
    uint32_t turn = 0;
    for (uint32_t i = 0; i < instruction->operand_count && !program->chained; i++) {
        const sh_buffer *buffer = &program->buffers[instruction->operands[i]];
        if (buffer->space == SH_SPACE_SHARED)
            turn = buffer->place_number;
    }
    return turn % parts == part;
}

typedef struct selection {
    bool prepares;
    uint32_t part, parts;
} selection;

static bool is_selected(const sh_program *program, const sh_instruction *instruction,
                        const selection *of)
{
    return instruction->prepares == of->prepares &&
           (of->parts == 1 || is_of_part(program, instruction, of->part, of->parts));
}

/* One reading of the clock ends an instruction and begins the next. */
static void take_time(run *r, size_t index)
{
    if (r->execution->times == NULL)
        return;
    const uint64_t now_ns = sh_clock_now_ns(r->execution->clock);
    r->execution->times[index].ns += now_ns - r->begun_ns;
    r->begun_ns = now_ns;
}

static void run_members(run *r, const sh_group *group, size_t first, size_t members)
{
    for (size_t at = 0; at < group->samples && !is_interrupted(r); at += group->slab) {
        const size_t left = group->samples - at;
        const sh_slab slab = {at, left < group->slab ? left : group->slab, group->samples};
        for (size_t i = first; i < first + members; i++) {
            run_slab(r, i, &slab);
            take_time(r, i);
        }
    }
    for (size_t i = first; i < first + members && r->execution->times != NULL; i++)
        r->execution->times[i].count++;
}

static sh_status run_all(sh_execution *execution, const selection *of, sh_gradient_sink *sink,
                         void *context)
{
    const sh_program *program = execution->program;
    run r = {.execution = execution, .sink = sink, .context = context};
    r.interrupt = of->prepares ? NULL : execution->interrupt;
    const sh_clock *mark = execution->mark;
    if (execution->times != NULL)
        r.begun_ns = sh_clock_now_ns(execution->clock);
    for (size_t i = 0, now; i < program->instruction_count && !is_interrupted(&r); i += now) {
        const sh_instruction *instruction = &program->instructions[i];
        now = 1;
        if (!is_selected(program, instruction, of))
            continue;
        if (i >= program->backward && mark != NULL) {
            execution->marked_ns = sh_clock_now_ns(mark);
            mark = NULL;
        }
        if (instruction->group.members > 0) {
            now = instruction->group.members;
            run_members(&r, &instruction->group, i, now);
            continue;
        }
        run_whole(&r, i);
        take_time(&r, i);
        if (execution->times != NULL)
            execution->times[i].count++;
    }
    return is_interrupted(&r) ? sh_fail(SH_ABORTED, "the computation was interrupted") : SH_OK;
}

static const sh_instruction *product_sink(const sh_program *program, uint32_t parameter)
{
    for (size_t i = 0; i < program->instruction_count; i++) {
        const sh_instruction *sink = &program->instructions[i];
        if (sink->kernel == NULL && sink->parameter == parameter)
            return sink->multiplies ? sink : NULL;
    }
    return NULL;
}

bool sh_execution_product(const sh_execution *execution, uint32_t parameter, sh_product *product)
{
    const sh_program *program = execution->program;
    const sh_instruction *sink = product_sink(program, parameter);
    if (sink == NULL)
        return false;
    *product = (sh_product){
        .x = address(execution, sink->operands[1]),
        .dy = address(execution, sink->operands[2]),
        .x_bytes = program->buffers[sink->operands[1]].bytes,
        .dy_bytes = program->buffers[sink->operands[2]].bytes,
    };
    return true;
}

static const sh_group *group_of(const sh_program *program, size_t index)
{
    for (size_t first = index + 1; first-- > 0;)
        if (program->instructions[first].group.members > 0)
            return first + program->instructions[first].group.members > index
                       ? &program->instructions[first].group
                       : NULL;
    return NULL;
}

sh_status sh_execution_multiply(sh_execution *execution, uint32_t parameter, sh_gradient_sink *sink,
                                void *context)
{
    const sh_program *program = execution->program;
    const sh_instruction *of = product_sink(program, parameter);
    run r = {.execution = execution, .sink = sink, .context = context};
    assert(of != NULL);
    const size_t index = (size_t)(of - program->instructions);
    const sh_group *group = group_of(program, index);
    if (group != NULL) {
        run_members(&r, group, index - 1, 2);
        return SH_OK;
    }
    run_whole(&r, index - 1);
    run_whole(&r, index);
    return SH_OK;
}

sh_status sh_execution_prepare(sh_execution *execution)
{
    return sh_execution_prepare_part(execution, 0, 1);
}

sh_status sh_execution_prepare_part(sh_execution *execution, uint32_t part, uint32_t parts)
{
    const selection of = {.prepares = true, .part = part, .parts = parts};
    return run_all(execution, &of, NULL, NULL);
}

sh_status sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context)
{
    const selection of = {.prepares = false, .parts = 1};
    return run_all(execution, &of, sink, context);
}
