/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves a job and its replica to a checkpoint file and loads them.
 *
 * Tensors of a checkpoint: the weights under their own names, so that other programs find them;
 * "optimizer.<slot>.<name>" for tensors that are not frozen; "sum.envelopes" and "sum.exponents"
 * with one value for each of these tensors. Metadata: "shoal.job" (train/job_json.h) and
 * "shoal.position", both JSON; "shoal.data", the data's fingerprint; "shoal.trained"
 * (data/trained.h), absent in files of earlier versions.
 *
 *     SH_TRY(sh_snapshot_save("runs/a/checkpoints", &job, &data, replica));
 *     ...
 *     SH_TRY(sh_checkpoint_open(&file, path, "runs/a"));
 *     SH_TRY(sh_snapshot_read_job(&job, file));
 *     SH_TRY(sh_snapshot_load(replica, file));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_SNAPSHOT_H
#define SHOAL_TRAIN_SNAPSHOT_H

#include "store/safetensors.h"
#include "train/replica.h"

/* The texts are borrowed for the call. */
typedef struct sh_snapshot_data {
    const char *fingerprint;
    const char *trained; /* data/trained.h; NULL: not written */
} sh_snapshot_data;

/* Keeps the previous checkpoint in the folder (store/checkpoint.h). */
sh_status sh_snapshot_save(const char *folder, const sh_job *job, const sh_snapshot_data *data,
                           const sh_replica *replica) SHOAL_CHECKED;

/* SH_MISMATCH: shoal did not write the file. */
sh_status sh_snapshot_read_job(sh_job *job, const sh_safetensors *file) SHOAL_CHECKED;

/* The fingerprint of the checkpoint's data; borrowed from the file. Fails as above. */
sh_status sh_snapshot_read_fingerprint(const char **fingerprint,
                                       const sh_safetensors *file) SHOAL_CHECKED;

/* "shoal.trained", or NULL; borrowed from the file. */
const char *sh_snapshot_trained(const sh_safetensors *file);

/* The steps applied at the checkpoint. Fails as above and with SH_FORMAT. */
sh_status sh_snapshot_read_steps(uint64_t *steps, const sh_safetensors *file) SHOAL_CHECKED;

/*
 * The replica is of the same job. SH_MISMATCH: the checkpoint is of another model; the message
 * names a tensor that is missing or has another shape. After a failure the content of the replica
 * is undefined.
 */
sh_status sh_snapshot_load(sh_replica *replica, const sh_safetensors *file) SHOAL_CHECKED;

bool sh_snapshot_is_checkpoint(const sh_safetensors *file);

#endif
