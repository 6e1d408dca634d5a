/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files and folders for a trained model into slots: the validation samples of a data set,
 * which a pipeline prepares like the training data.
 *
 *     SH_TRY(sh_file_samples_dataset(&dataset, files));          // for a pipeline
 *     SH_TRY(sh_file_samples_begin(files, paths, count));
 *     while ((status = sh_file_samples_fill(files, 32, &filled)) == SH_OK && filled > 0)
 *         ... read validation samples 0 .. filled - 1 ...
 *
 * An unreadable file becomes a slot with a `failure` and zeros. Slot i is validation sample i; its
 * target is zeros.
 *
 * Threads: reading any, concurrently on different slots; the rest one at a time.
 */
#ifndef SHOAL_DATA_FILE_SAMPLES_H
#define SHOAL_DATA_FILE_SAMPLES_H

#include "data/trained.h"

typedef struct sh_file_samples sh_file_samples;

/* Strings last until the next fill; names are unsafe to display. */
typedef struct sh_file_sample {
    char *name;    /* "new.csv, line 4"; of a stream "line 4" */
    char *target;  /* stated, or "" */
    bool failed;   /* set by filling or reading */
    char *failure; /* NULL if out of memory */
    bool loads;    /* reading opens the file */
} sh_file_sample;

/* Borrows `trained` until freed, strings of `options` for the call. */
sh_status sh_file_samples_new(sh_file_samples **files, const sh_trained *trained,
                              const sh_read_options *options, uint32_t slots) SHOAL_CHECKED;
void sh_file_samples_free(sh_file_samples *files);

/* "photos", for messages; "" if the format has no single files. Static. */
const char *sh_file_samples_kind(const sh_file_samples *files);

/* Close `*dataset` before freeing `files`. */
sh_status sh_file_samples_dataset(sh_dataset **dataset, sh_file_samples *files) SHOAL_CHECKED;

/* `paths` are borrowed until the end. SH_UNSUPPORTED: the format has no single files. */
sh_status sh_file_samples_begin(sh_file_samples *files, const char *const *paths,
                                size_t count) SHOAL_CHECKED;

/* `fd` is borrowed until its end. SH_UNSUPPORTED: not rows of text. */
sh_status sh_file_samples_begin_stream(sh_file_samples *files, int fd) SHOAL_CHECKED;

/* `count` samples, borrowed until the end: pixels of 0 to 255, rounded, or numbers as in the data
 * set. SH_INVALID: not finite. */
sh_status sh_file_samples_begin_numbers(sh_file_samples *files, const float *numbers,
                                        size_t count) SHOAL_CHECKED;

/* `*filled` is 0 at the end. Fails only if out of memory. */
sh_status sh_file_samples_fill(sh_file_samples *files, uint32_t most,
                               uint32_t *filled) SHOAL_CHECKED;

/* `index` is below the number filled. */
const sh_file_sample *sh_file_samples_slot(const sh_file_samples *files, uint32_t index);

#endif
