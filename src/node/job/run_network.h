/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the network of an imported model in the run's folder, so that the folder suffices to
 * resume, evaluate and predict on any machine.
 *
 *     SH_TRY(sh_run_network_keep(run, bench->network));
 *     ...
 *     SH_TRY(sh_run_network_find(&network, job.model, "runs/one/checkpoints/last.safetensors"));
 *     ... sh_session_data.network ...
 *     sh_network_unref(network);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_RUN_NETWORK_H
#define SHOAL_NODE_JOB_RUN_NETWORK_H

#include "onnx/network.h"
#include "store/run.h"

/* Writes SH_RUN_NETWORK atomically. Accepts NULL, for a built-in model. */
sh_status sh_run_network_keep(const sh_run *run, const sh_network *network) SHOAL_CHECKED;

/*
 * The network of a job's `model` for a checkpoint: from the run's folder (the parent of the
 * checkpoint's folder), from beside the checkpoint, or from the cache. `*network` is owned:
 * sh_network_unref; NULL for a built-in model. SH_INVALID: not found; the message has the searched
 * places and the remedy. SH_CORRUPT: damaged.
 */
sh_status sh_run_network_find(sh_network **network, const char *model,
                              const char *checkpoint) SHOAL_CHECKED;

#endif
