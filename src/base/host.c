/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host.h"

#include <hwloc.h>
#include <stdio.h>
#include <unistd.h>

void sh_host_name(char name[SH_NAME_BYTES])
{
    char full[256];
    if (gethostname(full, sizeof full) != 0 || full[0] == '\0')
        snprintf(full, sizeof full, "device");
    full[sizeof full - 1] = '\0';
    snprintf(name, SH_NAME_BYTES, "%.*s", SH_NAME_BYTES - 1, full);
}

uint32_t sh_host_cores(void)
{
    hwloc_topology_t topology;
    int cores = 0;
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0) {
            hwloc_bitmap_t mine = hwloc_bitmap_alloc();
            if (mine != NULL && hwloc_get_cpubind(topology, mine, HWLOC_CPUBIND_PROCESS) == 0)
                cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, mine, HWLOC_OBJ_CORE);
            hwloc_bitmap_free(mine);
            if (cores <= 0)
                cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        }
        hwloc_topology_destroy(topology);
    }
    return cores > 0 ? (uint32_t)cores : 1;
}
