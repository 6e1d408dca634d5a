/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a launcher of parallel programs (mpirun, srun) has placed this process, as it says in the
 * environment.
 *
 *     sh_launch launch;
 *     if (sh_launch_read(&launch) && launch.rank > 0)
 *         quiet = true;
 *
 * Threads: any, while nobody changes the environment.
 */
#ifndef SHOAL_LAUNCH_H
#define SHOAL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sh_launch {
    uint32_t rank, ranks; /* this process, and how many there are; the first rank is 0 */
    uint32_t here;        /* ranks on this machine, where the launcher says so, else 1 */
    const char *launcher; /* "mpirun"; static storage */
} sh_launch;

/* False where no launcher has started this process, or what it says makes no sense. */
SHOAL_API bool sh_launch_read(sh_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
