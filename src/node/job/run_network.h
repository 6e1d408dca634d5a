/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a run whose model was imported: in the run's folder, so that the folder alone is
 * enough to go on, to measure and to predict, on any machine.
 *
 *     SH_TRY(sh_run_network_keep(run, bench->network));
 *     ...
 *     SH_TRY(sh_run_network_find(&network, job.model, "runs/one/checkpoints/last.safetensors"));
 *     ... sh_workbench_data.network ...
 *     sh_network_unref(network);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_RUN_NETWORK_H
#define SHOAL_NODE_JOB_RUN_NETWORK_H

#include "onnx/network.h"
#include "store/run.h"

/* Writes it into the run's folder (SH_RUN_NETWORK), whole or not at all. NULL, a built-in model's,
 * is fine. */
sh_status sh_run_network_keep(const sh_run *run, const sh_network *network) SHOAL_CHECKED;

/*
 * The network of `model`, as a job names it, for a checkpoint: from the folder above the
 * checkpoint's, which is the run's, or from beside the checkpoint, or from the cache. `*network` is
 * owned: sh_network_unref it; NULL for a built-in model. SH_INVALID: it was not found; the
 * message says where it was looked for and what to do. SH_CORRUPT: the one that was found is
 * damaged.
 */
sh_status sh_run_network_find(sh_network **network, const char *model,
                              const char *checkpoint) SHOAL_CHECKED;

#endif
