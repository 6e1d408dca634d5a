/* SPDX-License-Identifier: Apache-2.0 */
/* What compiler.c and slabs.c build and program.c runs: the inside of a program. */
#ifndef SHOAL_BACKEND_PROGRAM_IMPL_H
#define SHOAL_BACKEND_PROGRAM_IMPL_H

#include "backend/program.h"

#define SH_NO_PARAMETER UINT32_MAX

typedef enum sh_space {
    SH_SPACE_LANE,      /* lane memory, placed by lifetime */
    SH_SPACE_SHARED,    /* made from weights alone, lives for ever */
    SH_SPACE_PARAMETER, /* the weights themselves */
} sh_space;

typedef struct sh_buffer {
    sh_space space;
    bool made;    /* something has written it, or it is given */
    bool scratch; /* for one instruction */
    bool placed;  /* `place` is known */
    size_t bytes;
    uint32_t first, last; /* instruction numbers from 1; 0 is before the run */
    size_t slab_bytes;    /* holds one slab of a group, of so many bytes; 0: all samples */
    bool whole;           /* a group reads or writes more than a slab of it at a time */
    size_t place;         /* offset in its space, or the parameter's index */
    uint32_t turn;        /* number of a place that weights are prepared in */

    sh_buffer_id over[SH_MAX_OVERWRITES]; /* buffers whose memory it may take over */
    uint32_t over_count;
    sh_buffer_id block; /* whose memory it lies in: its own number, or an earlier buffer's */
    uint32_t taken;     /* of a block: the instruction at which it was last taken over */
} sh_buffer;

/* A group (slabs.h): it is kept by its first member. */
typedef struct sh_group {
    size_t members;       /* instructions; 0: no group begins here */
    size_t samples, slab; /* of all, and at a time; of rows where `rows` */
    bool rows;
    size_t end; /* behind the last instruction of its range */
} sh_group;

typedef struct sh_instruction {
    const sh_kernel *kernel; /* NULL: hands operand 0 to the sink as the gradient of `parameter` */
    void *state;
    bool prepares; /* runs once a step */
    sh_work work;  /* `prepares` and `bytes` are filled in when asked for */
    uint32_t parameter;
    bool multiplies; /* a sink with operands 1 and 2: the instruction before it multiplies them */
    sh_samples samples;
    sh_group group;
    uint32_t operand_count;
    sh_buffer_id operands[SH_MAX_OPERANDS];
} sh_instruction;

struct sh_program {
    sh_instruction *instructions;
    size_t instruction_count, instruction_capacity;
    bool chained;    /* something is prepared from what is prepared: by one lane, in this order */
    size_t backward; /* the first instruction of backward that does not prepare; or the count */
    sh_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    sh_buffer_id *inputs, *outputs;
    size_t input_count, output_count;
    size_t lane_bytes, shared_bytes;
};

#endif
