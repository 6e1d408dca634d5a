/* SPDX-License-Identifier: Apache-2.0 */
/* For builds without MPI. */
#include "reduce/mpi.h"

bool sh_mpi_is_built(void)
{
    return false;
}

sh_status sh_mpi_open(sh_engine **engine, uint32_t *rank)
{
    (void)engine;
    (void)rank;
    return sh_fail(SH_UNSUPPORTED, "this build has no MPI");
}

void sh_mpi_close_within(sh_engine *engine, int patience_ms)
{
    (void)engine;
    (void)patience_ms;
}
