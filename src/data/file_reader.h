/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between file_samples.h and the formats of data: what reads new files for a trained
 * model as those of the training were read. A format's row names the function that makes one:
 *
 *     SH_TRY(format->file_reader(&reader, trained, options));
 *     SH_TRY(reader->ops->begin(reader, "new.csv", -1));
 *     do status = reader->ops->next(reader, sample, &place, &more); while (more);
 *     reader->ops->end(reader);
 *     reader->ops->free(reader);
 *
 * A file is one sample, which `load` reads, or has several, which `begin`, `next` and `end` go
 * through. A sample has sh_dataset_bytes(&trained->info) bytes, the same as the format's source
 * makes.
 *
 * Messages name the file.
 *
 * Threads: `load` any, several at once; the rest one at a time.
 */
#ifndef SHOAL_DATA_FILE_READER_H
#define SHOAL_DATA_FILE_READER_H

#include "data/trained.h"

#define SH_FILE_READER_TEXT 256 /* bytes of a place or a target */

typedef struct sh_file_reader sh_file_reader;

/* Where a sample is from, below its file: "line 4"; and what the file says of its target, or "". */
typedef struct sh_file_reader_place {
    char where[SH_FILE_READER_TEXT], target[SH_FILE_READER_TEXT];
} sh_file_reader_place;

typedef struct sh_file_reader_ops {
    const char *files; /* required: what it reads, for messages: "photos" */
    bool streams;      /* `begin` takes a descriptor */

    /* Required: whether a file below a folder is one of these, by its name. */
    bool (*is_named)(const char *name);

    /* Where a file is one sample; may block. */
    sh_status (*load)(const sh_file_reader *reader, const char *path, void *sample);

    /* Else required, may block: opens a file, or what comes on descriptor `fd` where that is not -1
     * (borrowed until `end`; `path` is a name for messages). A failure needs no `end`. */
    sh_status (*begin)(sh_file_reader *reader, const char *path, int fd);

    /* Likewise: the next sample and its place. `*more` is set in any case. False with SH_OK: the
     * file is at its end, and there is no sample; true with a failure: that sample is damaged, and
     * others may follow. */
    sh_status (*next)(sh_file_reader *reader, void *sample, sh_file_reader_place *place,
                      bool *more);

    /* Likewise. */
    void (*end)(sh_file_reader *reader);

    /* Required: frees it; `reader` is not NULL. */
    void (*free)(sh_file_reader *reader);
} sh_file_reader_ops;

/* The head of each one's own struct. */
struct sh_file_reader {
    const sh_file_reader_ops *ops;
};

/* What makes one: `trained` is borrowed until it is freed, `options` are as sh_job has them. Fails
 * with SH_FORMAT where `trained` does not say how its samples were read. */
typedef sh_status sh_file_reader_make(sh_file_reader **reader, const sh_trained *trained,
                                      const sh_read_options *options);

/* One for each kind of files. */
sh_file_reader_make sh_photo_reader, sh_sound_reader, sh_array_reader, sh_table_reader,
    sh_series_reader;

/* What `trained` says of how samples were read: its "inputs" where their "kind" is this one, or
 * NULL. */
const json_t *sh_file_reader_inputs(const sh_trained *trained, const char *kind);

/* A whole number of an object, from 1 to `most`; 0 where it is none. */
size_t sh_file_reader_number(const json_t *object, const char *name, size_t most);

/* A number of an object; false where it is none, or not finite. */
bool sh_file_reader_figure(double *figure, const json_t *object, const char *name);

/* The failure for a description that is not as the format's source writes it. */
sh_status sh_file_reader_malformed(void) SHOAL_CHECKED;

#endif
