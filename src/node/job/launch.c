/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/launch.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* The launchers' variables, the most specific first: srun may have started mpirun. */
typedef struct dialect {
    const char *launcher, *rank, *ranks, *here;
} dialect;

static const dialect dialects[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL},
};

static bool read_number(uint32_t *number, const char *variable)
{
    const char *text = variable == NULL ? NULL : getenv(variable);
    char *end;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || errno != 0 || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

bool sh_launch_read(sh_launch *launch)
{
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        const dialect *d = &dialects[i];
        sh_launch found = {.here = 1, .launcher = d->launcher};
        if (!read_number(&found.rank, d->rank) || !read_number(&found.ranks, d->ranks) ||
            found.rank >= found.ranks)
            continue;
        if (!read_number(&found.here, d->here) || found.here == 0 || found.here > found.ranks)
            found.here = 1;
        *launch = found;
        return true;
    }
    return false;
}
