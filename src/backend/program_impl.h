/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of a program: compiler.c and slabs.c build them, program.c runs them. */
#ifndef SHOAL_BACKEND_PROGRAM_IMPL_H
#define SHOAL_BACKEND_PROGRAM_IMPL_H

#include "backend/program.h"

#define SH_NO_PARAMETER UINT32_MAX

typedef enum sh_space {
    SH_SPACE_LANE,   /* lane memory, placed by lifetime */
    SH_SPACE_SHARED, /* from weights alone, never reused */
    SH_SPACE_PARAMETER,
} sh_space;

typedef struct sh_buffer {
    sh_space space;
    bool made; /* written already, or provided by the caller */
    bool scratch;
    bool placed;
    size_t bytes;
    uint32_t first, last;  /* instructions from 1; 0 is before the run */
    size_t slab_bytes;     /* if it holds only one slab of a group, else 0 */
    bool whole;            /* a group accesses more than a slab at a time */
    size_t place;          /* offset, or the parameter's index */
    uint32_t place_number; /* shared space: as in prepared.h */

    sh_buffer_id over[SH_MAX_OVERWRITES]; /* whose memory it may reuse */
    uint32_t over_count;
    sh_buffer_id block;      /* the buffer whose memory it uses: itself or an earlier one */
    uint32_t last_reused_at; /* of a block: the instruction that last reused it */
} sh_buffer;

/* A group (slabs.h), stored in its first member. */
typedef struct sh_group {
    size_t members;       /* count; 0: no group begins here */
    size_t samples, slab; /* in total, and per slab; rows if `rows` */
    bool rows;
    size_t end; /* one past the last instruction of its range */
} sh_group;

typedef struct sh_instruction {
    const sh_kernel *kernel; /* NULL: passes operand 0, the gradient of `parameter`, to the sink */
    void *state;
    bool prepares;
    sh_work work; /* without `prepares` and `bytes` */
    uint32_t parameter;
    bool multiplies; /* a sink of a product of operands 1 and 2 (sh_product) */
    sh_samples samples;
    sh_group group;
    uint32_t operand_count;
    sh_buffer_id operands[SH_MAX_OPERANDS];
} sh_instruction;

struct sh_program {
    sh_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    bool chained;    /* a preparation reads the result of another: part 0 does all, in order */
    size_t backward; /* the backward pass's first instruction that does not prepare; or the count */
    sh_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    sh_buffer_id *inputs, *outputs;
    size_t input_count, output_count;
    size_t lane_bytes, shared_bytes;
};

#endif
