/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of one step on one device, divided into the parts of parts.def.
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
    uint64_t step;              /* applied, counted from 1 at the start of the job */
    uint64_t ends_ns;           /* of the device's monotonic clock */
    uint32_t grains, samples;   /* of this device */
    uint32_t attempts;          /* 1 + repetitions */
    uint64_t wall_ns;           /* since the previous step, without validations and halts */
    uint64_t ns[SH_PART_COUNT]; /* mean over the lanes */
} sh_step_times;

/* Static storage. */
const char *sh_step_part_name(sh_step_part part);

#endif
