/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new job: its model, which may be an ONNX file, its data, and its initial weights.
 *
 *     SH_TRY(sh_new_job_open(&session, &options->job, &data, options->pretrained, note));
 *     if (note[0] != '\0')
 *         ... tell the user ...
 *
 * For an ONNX file, the job's model becomes the spec of its network (onnx/network.h), which is also
 * cached; the file's weights are loaded by name.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_NEW_JOB_H
#define SHOAL_NODE_JOB_NEW_JOB_H

#include "train/session.h"

/*
 * `data` as for sh_session_open. `pretrained`: a file of weights, or NULL. `note`: a line for the
 * user, or empty. `*session` is owned, even if the weights do not fit. A hash of the loaded
 * weights, also those of an ONNX file, becomes part of the session's job.
 */
sh_status sh_new_job_open(sh_session **session, const sh_job *job, const sh_session_data *data,
                          const char *pretrained, char note[SH_MESSAGE_BYTES]) SHOAL_CHECKED;

#endif
