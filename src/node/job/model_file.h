/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a trained model as a file for other programs.
 *
 *     const sh_model_source source = {.job = &job, .replica = replica, .trained_text = text};
 *     SH_TRY(sh_model_file_write(NULL, "model.onnx", SH_MODEL_AS_ONNX, &source));
 *
 * Threads: caller locks; reads the replica.
 */
#ifndef SHOAL_NODE_JOB_MODEL_FILE_H
#define SHOAL_NODE_JOB_MODEL_FILE_H

#include "shoal/export.h"
#include "train/replica.h"

/* Borrowed for the call. */
typedef struct sh_model_source {
    const sh_job *job;
    const sh_replica *replica;
    const char *trained_text; /* a checkpoint's description of the data (data/trained.h) */
    bool bake;                /* ONNX: the graph normalises pixels */
    bool fold;                /* ONNX: folds batch normalisations into the preceding layers */
    uint32_t int8;            /* ONNX: the number of training samples for --int8, or 0 */
} sh_model_source;

/* Replaces `path` atomically. `*quantised` (may be NULL without `int8`): the cost of quantisation.
 * SH_UNSUPPORTED: the format cannot express the model. */
sh_status sh_model_file_write(sh_model_quantised *quantised, const char *path,
                              sh_model_format format, const sh_model_source *source) SHOAL_CHECKED;

#endif
