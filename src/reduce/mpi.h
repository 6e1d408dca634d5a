/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce by the collectives of an MPI library, among the ranks that a launcher (mpirun, srun)
 * started: a fixed set of devices on a network that MPI supports better than TCP.
 *
 * If a rank is lost, the launcher ends all others; rounds may fail with SH_PEER_LOST before.
 * Every rank closes its engine, and closing waits for the others. sh_engine_abort does not notify
 * the other ranks: closing then waits for none of them, and the launcher ends them after this
 * process.
 *
 *     SH_TRY(sh_mpi_open(&engine, &rank));            // every rank
 *     SH_TRY(sh_engine_begin(engine, spans, count));
 *     ...
 *     sh_engine_close(engine);                        // every rank; waits for the others
 *
 * Threads: as reduce/engine.h, and stated per function.
 */
#ifndef SHOAL_REDUCE_MPI_H
#define SHOAL_REDUCE_MPI_H

#include <stdbool.h>

#include "reduce/engine.h"

/* Any thread. */
bool sh_mpi_is_built(void);

/*
 * Joins the `engine->devices` ranks; once per process. Without a launcher this is the only rank.
 * Owned: close it. SH_UNSUPPORTED: the build has no MPI; SH_INVALID: it was opened before. Any
 * thread.
 */
sh_status sh_mpi_open(sh_engine **engine, uint32_t *rank) SHOAL_CHECKED;

/*
 * Closes, but waits at most `patience_ms`: for a process that will soon be killed. What is not
 * closed by then remains until the process ends.
 */
void sh_mpi_close_within(sh_engine *engine, int patience_ms);

#endif
