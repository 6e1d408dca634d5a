/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model must know of its training data to prepare other data alike: shape, normalisation,
 * classes in order, treatment of columns. Text:
 *
 *     {"format": "photos", "channels": 3, "height": 64, "width": 64, "element": "byte",
 *      "target": "classification", "outputs": 2, "samples": [800, 200],
 *      "mean": [0.48, 0.45, 0.41], "deviation": [0.23, 0.22, 0.22],      of bytes; else empty
 *      "fingerprint": "ab12...", "description": {...}}                   source.h: about, no notes
 *
 * Readers with as_trained (sh_format) apply sh_read_options.trained; data without a split are all
 * validation. Others apply only the normalisation of bytes and need data of all classes.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_TRAINED_H
#define SHOAL_DATA_TRAINED_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_TRAINED_BYTES_MOST (16u << 20)

typedef struct sh_trained {
    json_t *json;         /* owned */
    sh_dataset_info info; /* the name is borrowed from `json` */
    json_t *about;        /* the description, borrowed likewise, or NULL */
} sh_trained;

/* Free `*text` with free(); NULL if longer than SH_TRAINED_BYTES_MOST. */
sh_status sh_trained_text(char **text, const sh_dataset *dataset) SHOAL_CHECKED;

/* SH_FORMAT: malformed text. */
sh_status sh_trained_parse(sh_trained **trained, const char *text) SHOAL_CHECKED;
void sh_trained_free(sh_trained *trained);

/* SH_MISMATCH: unknown; the message names some known ones. */
sh_status sh_trained_class(uint32_t *number, const sh_trained *trained,
                           const char *name) SHOAL_CHECKED;

/* Checks that a model suits other data; `description` may be NULL. SH_MISMATCH: another task,
 * number or order of classes, or shape; height and width of bytes may differ. */
sh_status sh_trained_check(const sh_trained *trained, const sh_dataset_info *info,
                           const char *description) SHOAL_CHECKED;

#endif
