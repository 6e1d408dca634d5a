/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new job: its model, which may be an ONNX file, its data, and the weights that it begins with.
 *
 *     SH_TRY(sh_beginning_open(&bench, &options->job, &data, options->pretrained, note));
 *     if (note[0] != '\0')
 *         ... tell the user ...
 *
 * The job's model becomes the spec of an ONNX file's network (onnx/network.h), which goes to the
 * cache too; the file's weights fill the replica, by name.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_BEGINNING_H
#define SHOAL_NODE_JOB_BEGINNING_H

#include "train/workbench.h"

/*
 * `data` as for sh_workbench_open. `pretrained` is a file of weights, or NULL. `note` is one line
 * for people, or empty. `*bench` is owned, also where weights do not fit. The hash of weights that
 * come from a file becomes part of the bench's job.
 */
sh_status sh_beginning_open(sh_workbench **bench, const sh_job *job, const sh_workbench_data *data,
                            const char *pretrained, char note[SH_MESSAGE_BYTES]) SHOAL_CHECKED;

#endif
