/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank of this process under a parallel launcher (mpirun, srun), read from the environment.
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
    uint32_t rank, ranks; /* of this process, from 0; their number */
    uint32_t here;        /* ranks on this machine; 1 if unknown */
    const char *launcher; /* "mpirun"; static storage */
} sh_launch;

/* False if no launcher started this process, or the environment is invalid. */
SHOAL_API bool sh_launch_read(sh_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
