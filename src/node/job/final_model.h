/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the trained model for other programs to the run's folder: model.onnx and
 * model.safetensors.
 *
 *     sh_final_model_write(run, &(sh_model_source){.job = &job, .replica = replica, ...});
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_JOB_FINAL_MODEL_H
#define SHOAL_NODE_JOB_FINAL_MODEL_H

#include "node/job/model_file.h"
#include "store/run.h"

/* Replaces both files. If ONNX cannot express the model or the disk is full, logs it
 * (model.skipped): the training succeeds anyway. Returns the first failure of the disk. */
sh_status sh_final_model_write(const sh_run *run, const sh_model_source *source) SHOAL_CHECKED;

#endif
