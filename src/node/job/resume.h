/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens saved state: a checkpoint to resume, with its job, the user's changes and its data; or
 * weights of a run or a file.
 *
 *     SH_TRY(sh_resume_open(&session, &saved, &options, note));
 *     if (note[0] != '\0')
 *         tell(note);
 *     ...
 *     SH_TRY(sh_weights_open(&file, "runs/lenet"));
 *     status = sh_pretrained_load(note, replica, file, SH_PRETRAINED_WHOLE);
 *     sh_safetensors_close(file);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_RESUME_H
#define SHOAL_NODE_RESUME_H

#include "shoal/train.h"
#include "store/safetensors.h"
#include "train/session.h"

/*
 * Opens the newest complete checkpoint of options->resume as a session at its position. Options
 * with `resume` in shoal/options.def may change, and the strategy to one with the same weights;
 * SH_MISMATCH names other differences. `*saved` is the checkpoint's job; the session has the
 * changed one. `note`: a message for the user, or "".
 */
sh_status sh_resume_open(sh_session **session, sh_job *saved, const sh_train_options *options,
                         char note[SH_MESSAGE_BYTES]) SHOAL_CHECKED;

/* Whether `path` is a run's folder, in which a resumed training continues, not a checkpoint. */
bool sh_resume_is_run(const char *path);

/*
 * Opens the newest checkpoint of a run's folder, or a safetensors file, and verifies its checksum,
 * if any. `*file` is owned: sh_safetensors_close. Fails as sh_checkpoint_open and
 * sh_safetensors_open. Any thread.
 */
sh_status sh_weights_open(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* Opens a run's best checkpoint if its folder has one, else as sh_weights_open. `used`: the file's
 * path. */
sh_status sh_weights_open_best(sh_safetensors **file, char used[SH_PATH_BYTES],
                               const char *path) SHOAL_CHECKED;

#endif
