/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void sh_host_name(char name[SH_NAME_BYTES])
{
    char full[256];
    if (gethostname(full, sizeof full) != 0 || full[0] == '\0')
        snprintf(full, sizeof full, "device");
    full[sizeof full - 1] = '\0';
    snprintf(name, SH_NAME_BYTES, "%.*s", SH_NAME_BYTES - 1, full);
}

/* The lowest-numbered processor on the same core; `processor` if unknown. */
static size_t first_sibling(const char *folder, size_t processor)
{
    char path[256];
    size_t first = processor;
    snprintf(path, sizeof path, "%s/cpu%zu/topology/thread_siblings_list", folder, processor);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return processor;
    if (fscanf(file, "%zu", &first) != 1)
        first = processor;
    fclose(file);
    return first;
}

uint32_t sh_host_count_cores(const char *folder, const bool *mine, size_t processors)
{
    bool *const counted = calloc(processors + 1, sizeof *counted);
    uint32_t cores = 0;
    for (size_t i = 0; i < processors && counted != NULL; i++) {
        const size_t core = mine[i] ? first_sibling(folder, i) : processors;
        if (core >= processors || counted[core])
            continue;
        counted[core] = true;
        cores++;
    }
    free(counted);
    return cores > 0 ? cores : 1;
}

uint32_t sh_host_cores(void)
{
    enum { PROCESSORS = 8192 }; /* Linux's maximum */
    cpu_set_t *const set = CPU_ALLOC(PROCESSORS);
    bool *const mine = calloc(PROCESSORS, sizeof *mine);
    const size_t bytes = CPU_ALLOC_SIZE(PROCESSORS);
    uint32_t cores = 1;
    if (set != NULL && mine != NULL && sched_getaffinity(0, bytes, set) == 0) {
        for (size_t i = 0; i < PROCESSORS; i++)
            mine[i] = CPU_ISSET_S(i, bytes, set);
        cores = sh_host_count_cores("/sys/devices/system/cpu", mine, PROCESSORS);
    }
    free(mine);
    CPU_FREE(set);
    return cores;
}
