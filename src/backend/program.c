/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/program.h"

#include <stdlib.h>

#include "backend/program_impl.h"

struct sh_execution {
    const sh_program *program;
    unsigned char *lane_memory;
    unsigned char *shared_memory;
    float *const *parameters;
    void **operands; /* of all instructions, one after the other, SH_MAX_OPERANDS each */
    void **bound;    /* by instruction; NULL where the kernel binds nothing */
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

static sh_status bind_instructions(sh_execution *execution)
{
    const sh_program *program = execution->program;
    for (size_t i = 0; i < program->instruction_count; i++) {
        const sh_instruction *instruction = &program->instructions[i];
        void **operands = execution->operands + i * SH_MAX_OPERANDS;
        for (uint32_t j = 0; j < instruction->operand_count; j++)
            operands[j] = address(execution, instruction->operands[j]);
        if (instruction->kernel != NULL && instruction->kernel->bind != NULL)
            SH_TRY(instruction->kernel->bind(&execution->bound[i], instruction->state, operands));
    }
    return SH_OK;
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
        .bound = calloc(slots, sizeof *fresh->bound),
    };
    sh_status status = SH_OK;
    if (fresh->operands == NULL || fresh->bound == NULL)
        status = sh_fail_memory(slots * SH_MAX_OPERANDS * sizeof(void *), "an execution");
    else
        status = bind_instructions(fresh);
    if (status != SH_OK) {
        sh_execution_free(fresh);
        return status;
    }
    *execution = fresh;
    return SH_OK;
}

void sh_execution_free(sh_execution *execution)
{
    if (execution == NULL)
        return;
    const sh_program *program = execution->program;
    for (size_t i = 0; execution->bound != NULL && i < program->instruction_count; i++)
        if (execution->bound[i] != NULL)
            program->instructions[i].kernel->unbind(execution->bound[i]);
    free(execution->operands);
    free(execution->bound);
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

static sh_status run_instruction(sh_execution *execution, size_t index, sh_gradient_sink *sink,
                                 void *context)
{
    const sh_instruction *instruction = &execution->program->instructions[index];
    void *const *operands = execution->operands + index * SH_MAX_OPERANDS;
    if (instruction->kernel != NULL)
        return instruction->kernel->run(instruction->state, execution->bound[index], operands);
    if (sink != NULL)
        sink(context, instruction->parameter, operands[0]);
    return SH_OK;
}

sh_status sh_execution_prepare(sh_execution *execution)
{
    for (size_t i = 0; i < execution->program->instruction_count; i++)
        if (execution->program->instructions[i].prepares)
            SH_TRY(run_instruction(execution, i, NULL, NULL));
    return SH_OK;
}

sh_status sh_execution_run(sh_execution *execution, sh_gradient_sink *sink, void *context)
{
    for (size_t i = 0; i < execution->program->instruction_count; i++)
        if (!execution->program->instructions[i].prepares)
            SH_TRY(run_instruction(execution, i, sink, context));
    return SH_OK;
}
