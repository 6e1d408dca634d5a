/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of a training that mpirun or srun has started: a fixed set without a coordinator, in
 * which each does the same as all. Rank 0 alone has the run's folder and speaks.
 *
 *     SH_TRY(sh_ranks_open(&ranks));
 *     SH_TRY(sh_ranks_unite(ranks, prepare()));            // fails everywhere where one fails
 *     SH_TRY(sh_ranks_compare(ranks, bench));
 *     ... stages with sh_ranks_engine(ranks), each rank its sh_ranks_share ...
 *     sh_ranks_close(ranks, false);
 *
 * All ranks make the same calls in the same order. One that fails by itself, in a way that the
 * others do not see, calls sh_ranks_part; when its process ends the launcher ends the others.
 *
 * Threads: the step's, but for sh_ranks_part.
 */
#ifndef SHOAL_NODE_RANKS_H
#define SHOAL_NODE_RANKS_H

#include "node/workbench.h"
#include "shoal/train.h"

/* When one has ended mpirun ends all others at once, so where they are told to end the first one
 * goes first, which has something to save and to say. */
#define SH_RANKS_LINGER_MS 5000

typedef struct sh_ranks sh_ranks;

/* Whether the training is to run on ranks. */
bool sh_ranks_are_wanted(const sh_train_options *options);

/*
 * Checks --engine against what else is asked for and how the process was started. SH_INVALID or
 * SH_UNSUPPORTED with the remedy; any thread.
 */
sh_status sh_ranks_check(const sh_train_options *options) SHOAL_CHECKED;

/* Devices of the training where it is to run on ranks: what the launcher says, else 1. */
uint32_t sh_ranks_expected(void);

/* Meets the other ranks. SH_MISMATCH where MPI and the launcher do not agree about them. */
sh_status sh_ranks_open(sh_ranks **ranks) SHOAL_CHECKED;

/* This rank; from 0. */
uint32_t sh_ranks_own(const sh_ranks *ranks);
sh_engine *sh_ranks_engine(const sh_ranks *ranks);
/* Ranks on this machine. */
uint32_t sh_ranks_here(const sh_ranks *ranks);
/* The part of `grains` that this rank computes: equal ones, in order. */
sh_range sh_ranks_share(const sh_ranks *ranks, uint32_t grains);

/*
 * Where `status` is a failure on any rank, it fails on all, with the first such rank's message.
 * Without ranks (NULL) `status` as it is.
 */
sh_status sh_ranks_unite(sh_ranks *ranks, sh_status status) SHOAL_CHECKED;

/* SH_MISMATCH on all ranks where any has another program, job, data, arithmetic or replica than
 * rank 0; it names them. */
sh_status sh_ranks_compare(sh_ranks *ranks, const sh_workbench *bench) SHOAL_CHECKED;

/* Every rank's report, of which `own` is this one's. *reports is owned: free(). */
sh_status sh_ranks_reports(sh_ranks *ranks, const sh_device_report *own, sh_device_report **reports,
                           size_t *count) SHOAL_CHECKED;

/* This rank goes its own way, with this failure for the stage under way. Any thread. */
void sh_ranks_part(sh_ranks *ranks, sh_status status, const char *reason);
/* Whether that has happened, or the others were lost. */
bool sh_ranks_parted(const sh_ranks *ranks);

/* Says goodbye, where they have not parted, which waits for the others; `in_haste`: hardly, for a
 * process that is told to end. NULL is fine. */
void sh_ranks_close(sh_ranks *ranks, bool in_haste);

#endif
