/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads new files for a trained model in the form of its training data; the interface between
 * file_samples.h and the formats. A format's row names the function that creates a reader:
 *
 *     SH_TRY(format->file_reader(&reader, trained, options));
 *     SH_TRY(reader->ops->begin(reader, "new.csv", -1));
 *     do status = reader->ops->next(reader, sample, &place, &more); while (more);
 *     reader->ops->end(reader);
 *
 * A file is one sample, read by `load`, or several, read by `begin`, `next` and `end`. A sample has
 * sh_dataset_bytes(&trained->info) bytes. Messages name the file.
 *
 * Threads: `load` any, concurrently; the rest one at a time.
 */
#ifndef SHOAL_DATA_FILE_READER_H
#define SHOAL_DATA_FILE_READER_H

#include "data/trained.h"

#define SH_FILE_READER_TEXT 256

typedef struct sh_file_reader sh_file_reader;

/* A place such as "line 4", and the target stated there, or "". */
typedef struct sh_file_reader_place {
    char where[SH_FILE_READER_TEXT], target[SH_FILE_READER_TEXT];
} sh_file_reader_place;

typedef struct sh_file_reader_ops {
    const char *files; /* required: for messages, such as "photos" */
    bool streams;      /* `begin` accepts descriptors */

    /* Required: recognises a file by its name. */
    bool (*is_named)(const char *name);

    /* For files of one sample; may block. */
    sh_status (*load)(const sh_file_reader *reader, const char *path, void *sample);

    /* Required without `load`, may block: opens a file, or uses `fd` unless -1 (borrowed until
     * `end`; `path` is for messages). On failure `end` is not called. */
    sh_status (*begin)(sh_file_reader *reader, const char *path, int fd);

    /* Likewise; always sets `*more`. False with SH_OK: end of file, no sample. True with a failure:
     * a damaged sample, others may follow. */
    sh_status (*next)(sh_file_reader *reader, void *sample, sh_file_reader_place *place,
                      bool *more);

    /* Likewise. */
    void (*end)(sh_file_reader *reader);

    /* Required; not called with NULL. */
    void (*free)(sh_file_reader *reader);
} sh_file_reader_ops;

/* First member of every reader. */
struct sh_file_reader {
    const sh_file_reader_ops *ops;
};

/* Borrows `trained` until freed. SH_FORMAT: it does not tell how samples were read. */
typedef sh_status sh_file_reader_make(sh_file_reader **reader, const sh_trained *trained,
                                      const sh_read_options *options);

sh_file_reader_make sh_photo_reader, sh_sound_reader, sh_array_reader, sh_table_reader,
    sh_series_reader;

/* The "inputs" of `trained` with this "kind", or NULL. */
const json_t *sh_file_reader_inputs(const sh_trained *trained, const char *kind);

/* An integer member of 1 to `most`; 0: none. */
size_t sh_file_reader_number(const json_t *object, const char *name, size_t most);

/* False if missing or not finite. */
bool sh_file_reader_figure(double *figure, const json_t *object, const char *name);

/* Fails for a malformed description. */
sh_status sh_file_reader_malformed(void) SHOAL_CHECKED;

#endif
