/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a data set says of itself (sh_dataset_description; its form: data/source.h): names of
 * classes and targets, and the units of numbers.
 *
 *     json_t *description = sh_description_read(sh_dataset_description(data));
 *     char number[SH_DESCRIPTION_NUMBER];
 *     puts(sh_description_name(description, info->target, 3, number));
 *     json_decref(description);
 *
 * A set without a description, or with another form of it, has numbers for names and units of 1.
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

/* Owned: json_decref(). NULL where `text` is NULL or no JSON, which the functions below take. */
json_t *sh_description_read(const char *text);

/* Of a class, label or number; borrowed from `description`, or from `number`, which gets "3". */
const char *sh_description_name(const json_t *description, sh_target target, unsigned index,
                                char number[SH_DESCRIPTION_NUMBER]);

/* Of number `index`. */
sh_target_scale sh_description_scale(const json_t *description, unsigned index);

/* What a user should know of the data: texts; NULL where there is nothing. Borrowed. */
const json_t *sh_description_notes(const json_t *description);

#endif
