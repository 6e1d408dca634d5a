/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of a training in a folder: the last, the previous, and those kept under other names.
 *
 * Files: DIR/last.safetensors and DIR/previous.safetensors, with checksums. At least one of the two
 * is a whole checkpoint at every instant, even if the program stops or the power fails.
 *
 *     SH_TRY(sh_checkpoint_save("runs/a/checkpoints", tensors, count, pairs, pair_count));
 *
 *     char path[SH_PATH_BYTES];
 *     sh_safetensors *file;
 *     SH_TRY(sh_checkpoint_open(&file, path, "runs/a"));   // verified: read it by safetensors.h
 *
 * Threads: any; only one may save into a folder at a time (the lock of store/run.h ensures this).
 */
#ifndef SHOAL_STORE_CHECKPOINT_H
#define SHOAL_STORE_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "store/file.h"
#include "store/safetensors.h"

#define SH_CHECKPOINT_LAST "last.safetensors"
#define SH_CHECKPOINT_PREVIOUS "previous.safetensors"
#define SH_CHECKPOINT_BEST "best.safetensors"

/* The format number, stored under the metadata key SH_CHECKPOINT_FORMAT_KEY, which only
 * sh_checkpoint_save sets. Any change of meaning increments it. */
#define SH_CHECKPOINT_FORMAT 1
#define SH_CHECKPOINT_FORMAT_KEY "shoal.format"

/*
 * Writes and syncs a new last checkpoint; the former last one becomes the previous one. Makes
 * `folder` if it is missing. Everything is borrowed during the call. On failure the older
 * checkpoints stay whole.
 */
sh_status sh_checkpoint_save(const char *folder, const sh_stored_tensor *tensors, size_t count,
                             const sh_metadata *pairs, size_t pair_count) SHOAL_CHECKED;

/*
 * Keeps the last checkpoint under another name in its folder, atomically. It is a hard link, or on
 * file systems without hard links a copy. SH_NOT_FOUND: there is no last checkpoint.
 */
sh_status sh_checkpoint_keep(const char *folder, const char *name) SHOAL_CHECKED;

/* Keeps the last checkpoint as "epoch-7.safetensors" for epoch 7, and removes such files of all but
 * the `most` newest epochs. `most` is at least 1. */
sh_status sh_checkpoint_keep_epoch(const char *folder, uint32_t epoch, uint32_t most) SHOAL_CHECKED;

/*
 * Opens the newest whole checkpoint of a run folder or a checkpoint folder, or the given file, and
 * checks its checksum and format. `*file` is owned: sh_safetensors_close(). `path_used` is its
 * path.
 *
 * In a folder, if the last checkpoint is missing or damaged, opens the previous one and logs
 * "checkpoint.damaged". SH_NOT_FOUND: no checkpoint. SH_CORRUPT: none is whole. SH_VERSION: a newer
 * shoal wrote it; an older checkpoint is never used instead.
 */
sh_status sh_checkpoint_open(sh_safetensors **file, char path_used[SH_PATH_BYTES],
                             const char *folder_or_file) SHOAL_CHECKED;

#endif
