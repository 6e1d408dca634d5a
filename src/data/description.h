/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a data set's description (sh_dataset_description; format: data/source.h): names of classes
 * and targets, scales of numbers.
 *
 * Without a description, names are numbers and scales are 1.
 *
 *     json_t *description = sh_description_read(sh_dataset_description(data));
 *     char number[SH_DESCRIPTION_NUMBER];
 *     puts(sh_description_name(description, info->target, 3, number));
 *     json_decref(description);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_DESCRIPTION_H
#define SHOAL_DATA_DESCRIPTION_H

#include <jansson.h>

#include "tensor/target.h"

#define SH_DESCRIPTION_NUMBER 16

/* A packed number is (value - mean) / deviation. */
typedef struct sh_target_scale {
    double mean, deviation;
} sh_target_scale;

/* Free with json_decref(). NULL if `text` is NULL or not JSON; the functions below accept NULL. */
json_t *sh_description_read(const char *text);

/* Borrowed from `description`, or from `number` ("3"). */
const char *sh_description_name(const json_t *description, sh_target target, unsigned index,
                                char number[SH_DESCRIPTION_NUMBER]);

sh_target_scale sh_description_scale(const json_t *description, unsigned index);

/* Lines for the user; an array of strings, borrowed; NULL if none. */
const json_t *sh_description_notes(const json_t *description);

#endif
