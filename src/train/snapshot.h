/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job and its replica at rest: as a checkpoint in a file.
 *
 *     SH_TRY(sh_snapshot_save("runs/a/checkpoints", &job, &data, replica));
 *     ...
 *     SH_TRY(sh_checkpoint_open(&file, path, "runs/a"));
 *     SH_TRY(sh_snapshot_read_job(&job, file));
 *     SH_TRY(sh_snapshot_load(replica, file));
 *
 * Tensors of a checkpoint: the weights under their own names, so that other programs find them;
 * "optimizer.<slot>.<name>"; "sum.envelopes" and "sum.exponents", a value for each weight tensor;
 * these two kinds not of frozen ones.
 * Metadata: "shoal.job" (train/job_json.h) and "shoal.position", JSON; "shoal.data", the data's
 * fingerprint; "shoal.trained" (data/trained.h), which files of earlier versions lack.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_SNAPSHOT_H
#define SHOAL_TRAIN_SNAPSHOT_H

#include "store/safetensors.h"
#include "train/replica.h"

/* What it says of its data; texts are borrowed during the call. */
typedef struct sh_snapshot_data {
    const char *fingerprint;
    const char *trained; /* data/trained.h; NULL: nothing more */
} sh_snapshot_data;

/* Writes a checkpoint into the folder; the one before it is kept (store/checkpoint.h). */
sh_status sh_snapshot_save(const char *folder, const sh_job *job, const sh_snapshot_data *data,
                           const sh_replica *replica) SHOAL_CHECKED;

/* The job that a checkpoint belongs to. SH_MISMATCH: a file that shoal did not write. */
sh_status sh_snapshot_read_job(sh_job *job, const sh_safetensors *file) SHOAL_CHECKED;

/* The fingerprint of its data; borrowed from the file. Failures as above. */
sh_status sh_snapshot_read_fingerprint(const char **fingerprint,
                                       const sh_safetensors *file) SHOAL_CHECKED;

/* What it says of its data, or NULL; borrowed from the file. */
const char *sh_snapshot_trained(const sh_safetensors *file);

/* The steps that were applied before it was written. Failures likewise, and SH_FORMAT. */
sh_status sh_snapshot_read_steps(uint64_t *steps, const sh_safetensors *file) SHOAL_CHECKED;

/*
 * Everything into a replica of the same job. SH_MISMATCH names the tensor that is missing or of
 * another shape: the checkpoint is of another model. On failure the replica holds anything.
 */
sh_status sh_snapshot_load(sh_replica *replica, const sh_safetensors *file) SHOAL_CHECKED;

/* Whether the file is a checkpoint, by what it says of itself. */
bool sh_snapshot_is_checkpoint(const sh_safetensors *file);

#endif
