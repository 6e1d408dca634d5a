/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured speed of a device: peak rates, and times of operations while all lanes work.
 *
 *     sh_measurements known = {.lanes = 4};
 *     sh_measurement one = sh_measurement_of(&work, graph, samples);   // the work
 *     one.seconds = 3e-4;                                              // its time
 *     SH_TRY(sh_measurements_add(&known, &one));
 *     sh_measurements_release(&known);
 *
 * Threads: any; values. plan/bench.c measures, plan/device_file stores.
 */
#ifndef SHOAL_PLAN_MEASUREMENT_H
#define SHOAL_PLAN_MEASUREMENT_H

#include "backend/program.h"

#define SH_OPERATION_BYTES 40
#define SH_MEASUREMENTS_MAX 65536
#define SH_MEASUREMENT_COUNT_MOST 1000000

/* Entries with the same name and class differ only in size, so that times between sizes can be
 * interpolated. */
typedef struct sh_measurement {
    char name[SH_OPERATION_BYTES]; /* an operator, "reorder", or one of those below */
    uint64_t class;                /* of operands and attributes, without samples */
    double size;                   /* samples of the grain; for others see below */
    double flops, bytes;
    double seconds; /* of one lane */
    uint32_t count; /* weight in a mean: 1 .. SH_MEASUREMENT_COUNT_MOST */
} sh_measurement;

/* Work outside a program's instructions; its class is 0. */
#define SH_TIME_SUM "exact sum"   /* of a tensor's gradient; size: elements */
#define SH_TIME_CLEAR "clear sum" /* of all tensors by all lanes; size: weights */
#define SH_TIME_APPLY "optimizer" /* by all lanes; size: floats read and written */
#define SH_TIME_GRAIN "grain"     /* per grain, outside its program; size: samples */
#define SH_TIME_STEP "step"       /* per step, outside the lanes' work; size: 1 */
#define SH_TIME_LAG "lag"         /* of the last lane; size: seconds of its grains */

/* The rate of one core alone, and of all together. */
typedef struct sh_rate {
    double one, all;
} sh_rate;

typedef struct sh_measurements {
    uint32_t lanes;
    char variant[16];      /* of the kernels */
    sh_rate multiply_add;  /* in registers: operations/s; 0 if read from a file */
    sh_rate matrix;        /* product: floating-point operations/s */
    sh_rate convolution;   /* likewise, of a 3x3 convolution */
    sh_rate copy;          /* read and written: bytes/s */
    sh_rate triad;         /* a = b + s c: bytes/s */
    sh_measurement *items; /* owned; sorted by name, class, size */
    size_t count, capacity;
} sh_measurements;

void sh_measurements_release(sh_measurements *known);

/* The work of an instruction in a program for `samples` samples; `seconds` is 0. */
sh_measurement sh_measurement_of(const sh_work *work, const sh_graph *graph, uint32_t samples);

/* Work without an instruction, such as SH_TIME_STEP. */
sh_measurement sh_measurement_named(const char *name, double size);

/* Known work gets the mean weighted by `count`. SH_LIMIT: more than SH_MEASUREMENTS_MAX. */
sh_status sh_measurements_add(sh_measurements *known, const sh_measurement *one) SHOAL_CHECKED;

/* The first entry with this name and class (NULL: any), and the number of such entries. Borrowed
 * until the next addition. */
const sh_measurement *sh_measurements_find(const sh_measurements *known, const char *name,
                                           const uint64_t *class, size_t *count);

#endif
