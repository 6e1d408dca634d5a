/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known speed of a device: peak rates, and times of operations measured while all its lanes
 * work.
 *
 *     sh_measurements known = {.lanes = 4};
 *     sh_measurement one = sh_measurement_of(&work, graph, samples);   // what was done
 *     one.seconds = 3e-4;                                              // and how long it took
 *     SH_TRY(sh_measurements_add(&known, &one));
 *     sh_measurements_release(&known);
 *
 * Threads: any; values. Nothing here measures: plan/bench.c does, and plan/device_file keeps them.
 */
#ifndef SHOAL_PLAN_MEASUREMENT_H
#define SHOAL_PLAN_MEASUREMENT_H

#include "backend/program.h"

#define SH_OPERATION_BYTES 40
#define SH_MEASUREMENTS_MAX 65536
#define SH_MEASUREMENT_COUNT_MOST 1000000

/*
 * One kind of work. Two with the same name and class differ only in size, so that times in between
 * can be interpolated.
 */
typedef struct sh_measurement {
    char name[SH_OPERATION_BYTES]; /* an operator, "reorder", or one of those below */
    uint64_t class;                /* of operands and attributes, without the number of samples */
    double size;                   /* samples of the grain; of those below as said there */
    double flops, bytes;
    double seconds; /* of one lane */
    uint32_t count; /* its weight in a mean: 1 .. SH_MEASUREMENT_COUNT_MOST */
} sh_measurement;

/* Work outside of a program's instructions; its class is 0. */
#define SH_TIME_SUM "exact sum"   /* of one tensor's gradient; size: elements */
#define SH_TIME_CLEAR "clear sum" /* of all tensors, all lanes together; size: weights */
#define SH_TIME_APPLY "optimizer" /* all lanes together; size: floats read and written */
#define SH_TIME_GRAIN "grain"     /* a grain's cost outside of its program; size: samples */
#define SH_TIME_STEP "step"       /* what a step costs outside of the lanes' work; size: 1 */
#define SH_TIME_LAG "lag"         /* the last lane's lag; size: seconds of its grains */

/* Rates of one core at work alone, and of all together. */
typedef struct sh_rate {
    double one, all;
} sh_rate;

typedef struct sh_measurements {
    uint32_t lanes;        /* that were at work */
    char variant[16];      /* of the kernels */
    sh_rate multiply_add;  /* in registers: operations a second; 0 if read from a file */
    sh_rate matrix;        /* matrix product: floating-point operations a second */
    sh_rate convolution;   /* the same of a 3x3 convolution */
    sh_rate copy;          /* memory read and written: bytes a second */
    sh_rate triad;         /* a = b + s c: bytes a second */
    sh_measurement *items; /* owned; sorted by name, class, size */
    size_t count, capacity;
} sh_measurements;

void sh_measurements_release(sh_measurements *known);

/* The work of an instruction in a program for `samples` samples; `seconds` is 0. */
sh_measurement sh_measurement_of(const sh_work *work, const sh_graph *graph, uint32_t samples);

/* Names and sizes that have no instruction. */
sh_measurement sh_measurement_named(const char *name, double size);

/*
 * Adds a time, as the mean weighted by `count` if the work is known. SH_LIMIT: more than
 * SH_MEASUREMENTS_MAX.
 */
sh_status sh_measurements_add(sh_measurements *known, const sh_measurement *one) SHOAL_CHECKED;

/* The first entry with this name and class (any class if NULL), and the number of consecutive ones.
 * Borrowed until the next one is added. */
const sh_measurement *sh_measurements_find(const sh_measurements *known, const char *name,
                                           const uint64_t *class, size_t *count);

#endif
