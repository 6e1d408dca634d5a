/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was saved and is used again: a checkpoint that a training goes on from, with its job, what
 * the user may change in it, and its data; and weights, wherever users keep them.
 *
 *     SH_TRY(sh_resume_open(&bench, &saved, &options, note));
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
#include "train/workbench.h"

/*
 * Opens the newest whole checkpoint of options->resume as a workbench that stands there. The rows
 * of shoal/options.def with `resume` may be given anew, and a strategy that leads to the same
 * weights; SH_MISMATCH names what else differs. `*saved` is the checkpoint's job, of which the
 * workbench has the changed one. `note` is set to what the user should know, else to "".
 */
sh_status sh_resume_open(sh_workbench **bench, sh_job *saved, const sh_train_options *options,
                         char note[SH_MESSAGE_BYTES]) SHOAL_CHECKED;

/* Whether `path` is a run's folder, in which a resumed training goes on; a checkpoint is not. */
bool sh_resume_is_run(const char *path);

/*
 * Opens the newest checkpoint of a run's folder, or a safetensors file, whose checksum is verified
 * where it carries one. `*file` is owned: sh_safetensors_close it. Fails as sh_checkpoint_open and
 * sh_safetensors_open do. Any thread.
 */
sh_status sh_weights_open(sh_safetensors **file, const char *path) SHOAL_CHECKED;

/* The best checkpoint of a run, where its folder has one, else what sh_weights_open opens. `used`
 * is the path of the file. */
sh_status sh_weights_open_best(sh_safetensors **file, char used[SH_PATH_BYTES],
                               const char *path) SHOAL_CHECKED;

#endif
