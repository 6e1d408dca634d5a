/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce by the collectives of an MPI library, among the ranks that a launcher (mpirun, srun)
 * has started: a fixed set of devices on a network that MPI knows better than TCP does.
 *
 *     SH_TRY(sh_mpi_open(&engine, &rank));            // every rank
 *     SH_TRY(sh_engine_begin(engine, spans, count));
 *     ...
 *     sh_engine_close(engine);                        // every rank; waits for the others
 *
 * A rank that is lost ends the job: the launcher ends all others. Rounds may fail with SH_PEER_LOST
 * before, and need not. Of sh_engine_abort the other ranks are not told: closing then waits for
 * nobody, and when the process has ended the launcher ends them.
 *
 * Threads: as reduce/engine.h, and as each function says. All calls of MPI are made by one thread
 * of the engine's own.
 */
#ifndef SHOAL_REDUCE_MPI_H
#define SHOAL_REDUCE_MPI_H

#include <stdbool.h>

#include "reduce/engine.h"

/* Whether this build has it. Any thread. */
bool sh_mpi_is_built(void);

/*
 * Takes this process's place among the ranks, `engine->devices` of them; once in a process. Without
 * a launcher it is the only one. Owned: close it. SH_UNSUPPORTED: the build has no MPI; SH_INVALID:
 * it was opened before. Any thread.
 */
sh_status sh_mpi_open(sh_engine **engine, uint32_t *rank) SHOAL_CHECKED;

/*
 * As sh_engine_close, but waits at most `patience_ms`: for a process that will soon be killed and
 * whose launcher no longer answers. What is not closed by then remains until the process ends.
 */
void sh_mpi_close_within(sh_engine *engine, int patience_ms);

#endif
