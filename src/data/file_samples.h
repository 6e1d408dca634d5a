/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New files for a trained model: goes through files and folders and puts their samples into slots,
 * which are the validation samples of a data set, so that a pipeline gives them to the model as it
 * gave the training's.
 *
 *     SH_TRY(sh_file_samples_new(&files, trained, &options, 32));
 *     SH_TRY(sh_file_samples_dataset(&dataset, files));          // for a pipeline
 *     sh_file_samples_begin(files, paths, count);
 *     while ((status = sh_file_samples_fill(files, 32, &filled)) == SH_OK && filled > 0)
 *         ... sh_pipeline_read(pipeline, SH_SPLIT_VALIDATION, 0, i, values, target) ...
 *         ... sh_file_samples_slot(files, i)->name, ->failed ...
 *     sh_file_samples_free(files);
 *
 * A file that cannot be read takes a slot, whose `failure` says why, and is a sample of zeros. What
 * reads a kind of files: file_reader.h. Targets are zeros.
 *
 * Threads: reading samples any, several at once but one for each slot; the rest one at a time.
 */
#ifndef SHOAL_DATA_FILE_SAMPLES_H
#define SHOAL_DATA_FILE_SAMPLES_H

#include "data/trained.h"

typedef struct sh_file_samples sh_file_samples;

/* A sample. Texts last until the slots are filled again; names are as they came: unsafe to show. */
typedef struct sh_file_sample {
    char *name;    /* the file, and the place in it: "new.csv, line 4"; of a stream "line 4" */
    char *target;  /* what the file says that it is, or "" */
    bool failed;   /* set here, or when the sample is read */
    char *failure; /* the message; NULL where memory is out */
    bool loads;    /* the file is read with the sample */
} sh_file_sample;

/* `trained` is borrowed until `*files`, which is owned, is freed; the texts of `options` for the
 * call. */
sh_status sh_file_samples_new(sh_file_samples **files, const sh_trained *trained,
                              const sh_read_options *options, uint32_t slots) SHOAL_CHECKED;
void sh_file_samples_free(sh_file_samples *files); /* NULL is fine */

/* What it reads: "photos"; "" where the format has no single files. Static. */
const char *sh_file_samples_kind(const sh_file_samples *files);

/* The data set of the slots; owned by the caller, and used no longer than `files` lives. */
sh_status sh_file_samples_dataset(sh_dataset **dataset, sh_file_samples *files) SHOAL_CHECKED;

/* Begins with these files and folders; `paths` are borrowed until all are through. SH_UNSUPPORTED:
 * files of this format cannot be read one by one. */
sh_status sh_file_samples_begin(sh_file_samples *files, const char *const *paths,
                                size_t count) SHOAL_CHECKED;

/* Begins with what comes on a descriptor (borrowed until it is at its end). SH_UNSUPPORTED: these
 * files are no rows of text. */
sh_status sh_file_samples_begin_stream(sh_file_samples *files, int fd) SHOAL_CHECKED;

/* Begins with samples in memory (borrowed until all are through), `count` times the numbers of one:
 * pixels from 0 to 255, which are rounded, or numbers as the data set has them. SH_INVALID: one is
 * not finite. */
sh_status sh_file_samples_begin_numbers(sh_file_samples *files, const float *numbers,
                                        size_t count) SHOAL_CHECKED;

/* Fills the first slots, at most `most` of them; `*filled` is 0 when all files are through. Fails
 * where memory is out. */
sh_status sh_file_samples_fill(sh_file_samples *files, uint32_t most,
                               uint32_t *filled) SHOAL_CHECKED;

/* Slot `index`, below what was filled. */
const sh_file_sample *sh_file_samples_slot(const sh_file_samples *files, uint32_t index);

#endif
