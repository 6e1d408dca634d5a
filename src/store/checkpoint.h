/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of a training: the newest and the one before, in a folder, and those that are kept.
 *
 *     SH_TRY(sh_checkpoint_save("runs/a/checkpoints", tensors, count, pairs, pair_count));
 *
 *     char path[SH_PATH_BYTES];
 *     sh_safetensors *file;
 *     SH_TRY(sh_checkpoint_open(&file, path, "runs/a"));   // verified: read it by safetensors.h
 *
 * Files: DIR/last.safetensors and DIR/previous.safetensors, each with a checksum over all its bytes
 * and the metadata "shoal.format". At every instant, a stop or power cut included, at least one of
 * the two names is a whole checkpoint.
 *
 * Threads: any; one saves into a folder at a time (the lock of store/run.h sees to that).
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

/* The format that is written, under the metadata key SH_CHECKPOINT_FORMAT_KEY; any change of
 * meaning raises it. save puts it first, callers do not give it. */
#define SH_CHECKPOINT_FORMAT 1
#define SH_CHECKPOINT_FORMAT_KEY "shoal.format"

/*
 * Makes `folder` where it is missing, writes and syncs a new checkpoint, and keeps the last one as
 * the previous one. Everything is borrowed during the call. On failure, a full disk included, the
 * older checkpoints are whole.
 */
sh_status sh_checkpoint_save(const char *folder, const sh_stored_tensor *tensors, size_t count,
                             const sh_metadata *pairs, size_t pair_count) SHOAL_CHECKED;

/*
 * Gives the last checkpoint another name in its folder: a file that stays when the next one is
 * saved. It takes no room until then, but on file systems without hard links, where it is a copy.
 * At every instant the name is what it was before or whole. SH_NOT_FOUND without a last one.
 */
sh_status sh_checkpoint_keep(const char *folder, const char *name) SHOAL_CHECKED;

/* The same under the name of an epoch, "epoch-7.safetensors"; removes those of all but the `most`
 * newest epochs. `most` is at least 1. */
sh_status sh_checkpoint_keep_epoch(const char *folder, uint32_t epoch, uint32_t most) SHOAL_CHECKED;

/*
 * Opens the newest whole checkpoint of a run folder, a checkpoint folder, or a file itself, and
 * checks its checksum and format. `*file` is owned: sh_safetensors_close(). `path_used` is its
 * path.
 *
 * In a folder the previous one is used, and logged as "checkpoint.damaged", where the last one is
 * missing or damaged. SH_NOT_FOUND where there is none, SH_CORRUPT where none is whole (the message
 * gives both reasons), SH_VERSION for one that a newer shoal wrote, which is never passed over for
 * an older one.
 */
sh_status sh_checkpoint_open(sh_safetensors **file, char path_used[SH_PATH_BYTES],
                             const char *folder_or_file) SHOAL_CHECKED;

#endif
