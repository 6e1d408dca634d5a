/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a column of a table to inputs of a network.
 *
 *     number, date   (value - mean) / deviation. The median replaces a missing value. If training
 *                    values are missing, another input is 1 for missing, otherwise 0
 *     ordinal        the position of the word in its order, 0, 1, ..., as a number
 *     category       one input for each category, 1 for the value's category; all 0 if the value
 *                    is missing or not a known category
 *
 * Mean, deviation, median and categories come from the training samples only, summed as doubles in
 * row order.
 *
 * Threads: any for sh_column_transform_apply; for the rest the caller locks.
 */
#ifndef SHOAL_DATA_TABLE_COLUMN_TRANSFORM_H
#define SHOAL_DATA_TABLE_COLUMN_TRANSFORM_H

#include <jansson.h>

#include "data/table/column_survey.h"

typedef struct sh_column_transform {
    char *name;      /* owned */
    uint32_t column; /* from 0 */
    sh_kind kind;
    /* Ordinal: the order. Category: all of the table, after sh_column_transform_fit those of the
     * training samples. */
    sh_vocabulary words;
    double median, mean, deviation; /* deviation 0: all are equal; no input */
    bool indicator;                 /* extra input for missing values */
    uint32_t outputs;               /* inputs of the network; 0: unused */
} sh_column_transform;

/* Owned. Moves `words` and leaves it empty. */
sh_status sh_column_transform_init(sh_column_transform *transform, const char *name,
                                   uint32_t column, sh_kind kind,
                                   sh_vocabulary *words) SHOAL_CHECKED;
void sh_column_transform_release(sh_column_transform *transform); /* safe for a zeroed value */

/*
 * `*value` is NaN if the field is missing; for a category it is its number, or -1 if unknown.
 * SH_FORMAT if the field is not a number, date or word of the order, as needed. The message names
 * the column, not the line.
 */
sh_status sh_column_transform_value(const sh_column_transform *transform, double *value,
                                    const char *text) SHOAL_CHECKED;

/*
 * Fits the transform to `count` training values. Renumbers categories: number i becomes
 * (*renumbered)[i], or -1 if no value has it. `*renumbered` is owned, and NULL for other kinds.
 * SH_FORMAT if the numbers are too far apart.
 */
sh_status sh_column_transform_fit(sh_column_transform *transform, int32_t **renumbered,
                                  const double *values, size_t count) SHOAL_CHECKED;

/* Writes transform->outputs inputs. False if one is not finite as a float. */
bool sh_column_transform_apply(const sh_column_transform *transform, float *inputs, double value);

/* An owned object: "name", "column" (from 1), "kind", then "categories", or "mean", "deviation",
 * "median", "missing" (there is the extra input) and for ordinals "order". NULL if there is no
 * memory. */
json_t *sh_column_transform_json(const sh_column_transform *transform);

/*
 * Restores a transform from such an object, with `outputs` as before. Owned. SH_FORMAT if it is not
 * valid.
 */
sh_status sh_column_transform_parse(sh_column_transform *transform,
                                    const json_t *object) SHOAL_CHECKED;

/* Mean and deviation (over n) of the values that are not NaN. False if there are none, if one of
 * the two overflows, or if the deviation of different values underflows to 0. */
bool sh_column_transform_moments(double *mean, double *deviation, const double *values,
                                 size_t count);

#endif
