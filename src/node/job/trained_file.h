/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained model in an ONNX file, in the place of a run: its network, its weights, and how samples
 * are given to it.
 *
 *     if (sh_trained_file_is(path))
 *         SH_TRY(sh_trained_file_open(&model, path));
 *     ... a workbench for model.job, with model.network and what model.trained says ...
 *     SH_TRY_DONE(sh_pretrained_load_onnx(replica, model.file, SH_PRETRAINED_WHOLE));
 *     sh_trained_file_close(&model);
 *
 * A file of `shoal export` says all of that (metadata_props: shoal.trained, shoal.job). Of any
 * other one it is assumed: photos of the size of its input, whose bytes are divided by 255 and not
 * normalised further, and classes without names.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_TRAINED_FILE_H
#define SHOAL_NODE_JOB_TRAINED_FILE_H

#include "data/trained.h"
#include "onnx/network.h"
#include "shoal/job.h"

/* Keys of metadata_props beside those that other tools know. */
#define SH_TRAINED_FILE_TRAINED "shoal.trained" /* data/trained.h */
#define SH_TRAINED_FILE_JOB "shoal.job"         /* how samples are read: train/job_json.h */
#define SH_TRAINED_FILE_BAKED "shoal.baked"     /* "1": it normalises pixels itself */

typedef struct sh_trained_file {
    sh_onnx *file;       /* owned */
    sh_network *network; /* likewise */
    sh_job job;          /* the model, and how samples are read; no data */
    const char *trained; /* data/trained.h; NULL: the file does not say it. Borrowed from it */
    bool baked;          /* it takes pixels from 0 to 255 and normalises them itself */
} sh_trained_file;

/* Whether a path is a file whose name ends in ".onnx". */
bool sh_trained_file_is(const char *path);

/* `*model` is owned: sh_trained_file_close it. Fails as sh_onnx_open does; SH_FORMAT where the
 * metadata are malformed. */
sh_status sh_trained_file_open(sh_trained_file *model, const char *path) SHOAL_CHECKED;

/*
 * What the model knows of its samples: as the file says, or as assumed. `*trained` is owned:
 * sh_trained_free it. SH_FORMAT: malformed; SH_UNSUPPORTED says what a file would have to say to be
 * given photos.
 */
sh_status sh_trained_file_trained(sh_trained **trained, const sh_trained_file *model) SHOAL_CHECKED;

/* Zero is fine. */
void sh_trained_file_close(sh_trained_file *model);

#endif
