/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of one step went on one device: the parts of parts.def.
 *
 *     for (int part = 0; part < SH_PART_COUNT; part++)
 *         printf("%s %.3f ms\n", sh_step_part_name(part), 1e-6 * (double)times.ns[part]);
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_MONITOR_STEP_TIMES_H
#define SHOAL_MONITOR_STEP_TIMES_H

#include <stdint.h>

typedef enum sh_step_part {
#define SH_PART(name, what) SH_PART_##name,
#include "monitor/parts.def"
#undef SH_PART
    SH_PART_COUNT
} sh_step_part;

typedef struct sh_step_times {
    uint64_t step;            /* applied, counted from 1 since the job began */
    uint64_t ends_ns;         /* of the device's monotonic clock */
    uint32_t grains, samples; /* that it computed itself */
    uint32_t attempts;        /* 1, and one more for each time that the step was done again */
    uint64_t wall_ns; /* from the end of the step before, but for validations and halts between */
    uint64_t ns[SH_PART_COUNT]; /* mean of the lanes */
} sh_step_times;

/* Static storage. */
const char *sh_step_part_name(sh_step_part part);

#endif
