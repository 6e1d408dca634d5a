/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where users keep weights: a run's folder, one of its checkpoints, or any safetensors file.
 *
 *     SH_TRY(sh_weights_open(&file, "runs/lenet"));
 *     status = sh_pretrained_load(note, replica, file, SH_PRETRAINED_WHOLE);
 *     sh_safetensors_close(file);
 *
 * Threads: any.
 */
#ifndef SHOAL_NODE_WEIGHTS_H
#define SHOAL_NODE_WEIGHTS_H

#include "store/safetensors.h"

/*
 * Opens the newest checkpoint of a run's folder, or the file, whose checksum is verified where it
 * carries one. `*file` is owned: sh_safetensors_close it. Fails as sh_checkpoint_open and
 * sh_safetensors_open do.
 */
sh_status sh_weights_open(sh_safetensors **file, const char *path) SHOAL_CHECKED;

#endif
