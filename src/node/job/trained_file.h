/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained model in an ONNX file instead of a run: its network, its weights, and the form of its
 * samples.
 *
 * A file of `shoal export` has all of this (metadata_props: shoal.trained, shoal.job). For other
 * files it assumes photos of the input's size, with bytes divided by 255 and not normalised, and
 * unnamed classes.
 *
 *     if (sh_trained_file_is(path))
 *         SH_TRY(sh_trained_file_open(&model, path));
 *     ... a session for model.job, with model.network and model.trained ...
 *     SH_TRY_DONE(sh_pretrained_load_onnx(replica, model.file, SH_PRETRAINED_WHOLE));
 *     sh_trained_file_close(&model);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_TRAINED_FILE_H
#define SHOAL_NODE_JOB_TRAINED_FILE_H

#include "data/trained.h"
#include "onnx/network.h"
#include "shoal/job.h"

/* Keys of metadata_props in addition to those that other tools know. */
#define SH_TRAINED_FILE_TRAINED "shoal.trained" /* data/trained.h */
#define SH_TRAINED_FILE_JOB "shoal.job"         /* how samples are read: train/job_json.h */
#define SH_TRAINED_FILE_BAKED "shoal.baked"     /* "1": the graph normalises pixels */

typedef struct sh_trained_file {
    sh_onnx *file;       /* owned */
    sh_network *network; /* likewise */
    sh_job job;          /* the model, and how samples are read; no data */
    const char *trained; /* data/trained.h; NULL: none; borrowed from the file */
    bool baked;          /* takes pixels from 0 to 255 and normalises them */
} sh_trained_file;

/* Whether the file's name ends in ".onnx". */
bool sh_trained_file_is(const char *path);

/* `*model` is owned: sh_trained_file_close. Fails as sh_onnx_open; SH_FORMAT: malformed
 * metadata. */
sh_status sh_trained_file_open(sh_trained_file *model, const char *path) SHOAL_CHECKED;

/* From the file or assumed. `*trained` is owned: sh_trained_free. SH_FORMAT: malformed.
 * SH_UNSUPPORTED: the message says what the file lacks to take photos. */
sh_status sh_trained_file_trained(sh_trained **trained, const sh_trained_file *model) SHOAL_CHECKED;

/* Zero is allowed. */
void sh_trained_file_close(sh_trained_file *model);

#endif
