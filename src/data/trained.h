/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model has to know of the data that it was trained with, so that other data are given to it
 * in the same way: shape, normalisation, names of classes in their order, treatment of columns. A
 * text that stands in checkpoints and in a run's folder:
 *
 *     {"format": "photos", "channels": 3, "height": 64, "width": 64, "element": "byte",
 *      "target": "classification", "outputs": 2, "samples": [800, 200],
 *      "mean": [0.48, 0.45, 0.41], "deviation": [0.23, 0.22, 0.22],      of bytes; else empty
 *      "fingerprint": "ab12...", "description": {...}}                   source.h: about, no notes
 *
 *     SH_TRY(sh_trained_text(&text, data));
 *     ... later, elsewhere ...
 *     SH_TRY(sh_trained_parse(&trained, text));
 *     options.trained = trained;                     // sh_read_options: read as it says
 *     sh_trained_free(trained);
 *
 * Readers of tables and photos do so (sh_format: as_trained); all samples validate where the data
 * have no split. Others read by their own figures, but for the normalisation of bytes, and have to
 * have all classes.
 *
 * Threads: any; it never changes.
 */
#ifndef SHOAL_DATA_TRAINED_H
#define SHOAL_DATA_TRAINED_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_TRAINED_BYTES_MOST (16u << 20) /* of a text */

typedef struct sh_trained {
    json_t *json;         /* owned */
    sh_dataset_info info; /* its name is borrowed from `json` */
    json_t *about;        /* the description, or NULL; borrowed from `json` */
} sh_trained;

/* `*text` is owned: free(); NULL where it would be longer than SH_TRAINED_BYTES_MOST. */
sh_status sh_trained_text(char **text, const sh_dataset *dataset) SHOAL_CHECKED;

/* `*trained` is owned: sh_trained_free it. SH_FORMAT: the text is something else. */
sh_status sh_trained_parse(sh_trained **trained, const char *text) SHOAL_CHECKED;
void sh_trained_free(sh_trained *trained); /* NULL is fine */

/* The number that a class has there. SH_MISMATCH: there is no such class; the message names some
 * that there are. */
sh_status sh_trained_class(uint32_t *number, const sh_trained *trained,
                           const char *name) SHOAL_CHECKED;

/* SH_MISMATCH says what a model of these data cannot be given of others: another task, number or
 * order of classes, or shape. Height and width of bytes do not count. `description` is that of the
 * others (sh_dataset_description), or NULL. */
sh_status sh_trained_check(const sh_trained *trained, const sh_dataset_info *info,
                           const char *description) SHOAL_CHECKED;

#endif
