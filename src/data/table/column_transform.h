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
 *     SH_TRY(sh_column_transform_value(&age, &value, "42.5"));
 *     sh_column_transform_apply(&age, inputs, value);          // age.outputs numbers
 *
 * Mean, deviation, median and categories come from the training samples only, summed as doubles in
 * the order of the rows.
 *
 * Threads: sh_column_transform_apply is safe to call concurrently. For the rest, the caller locks.
 */
#ifndef SHOAL_DATA_TABLE_COLUMN_TRANSFORM_H
#define SHOAL_DATA_TABLE_COLUMN_TRANSFORM_H

#include <jansson.h>

#include "data/table/column_survey.h"

typedef struct sh_column_transform {
    char *name;      /* of the column; owned */
    uint32_t column; /* from 0 */
    sh_kind kind;
    sh_vocabulary words;            /* ordinal: the order. category: all of the table; after
                                  sh_column_transform_fit,            those of the training samples */
    double median, mean, deviation; /* deviation 0: all values are equal; no input */
    bool indicator;                 /* an extra input tells if the value is missing */
    uint32_t outputs;               /* number of inputs of the network; 0: the column is not used */
} sh_column_transform;

/* Owned: release it with sh_column_transform_release. Moves `words` into it and leaves `words`
 * empty. */
sh_status sh_column_transform_init(sh_column_transform *transform, const char *name,
                                   uint32_t column, sh_kind kind,
                                   sh_vocabulary *words) SHOAL_CHECKED;
void sh_column_transform_release(sh_column_transform *transform); /* safe for a zeroed value */

/*
 * Converts a field to a number: NaN if it is missing; for a category its number, or -1 if it is
 * unknown. Fails with SH_FORMAT if the field is not a number, date or word of the order, as needed.
 * The message names the column but not the line.
 */
sh_status sh_column_transform_value(const sh_column_transform *transform, double *value,
                                    const char *text) SHOAL_CHECKED;

/*
 * Fits the transform to the `count` values of the training samples. Renumbers categories: the old
 * number i becomes (*renumbered)[i], or -1 if no training sample has it. `*renumbered` is owned,
 * and NULL for other kinds. SH_FORMAT if the numbers are too far apart.
 */
sh_status sh_column_transform_fit(sh_column_transform *transform, int32_t **renumbered,
                                  const double *values, size_t count) SHOAL_CHECKED;

/* Writes transform->outputs inputs. False if one is not finite as a float. */
bool sh_column_transform_apply(const sh_column_transform *transform, float *inputs, double value);

/* Returns the transform as an object: "name", "column" (from 1), "kind", then "categories", or
 * "mean", "deviation", "median", "missing" (there is the extra input) and for ordinals "order".
 * NULL if there is no memory. Owned. */
json_t *sh_column_transform_json(const sh_column_transform *transform);

/*
 * Restores a transform from such an object, for new rows; `outputs` is as before. Owned: release it
 * with sh_column_transform_release. Fails with SH_FORMAT if the object is not valid.
 */
sh_status sh_column_transform_parse(sh_column_transform *transform,
                                    const json_t *object) SHOAL_CHECKED;

/* Mean and deviation (over n) of the values that are not NaN. False if there are none, or if the
 * mean or deviation overflows or the deviation of different values underflows to 0. */
bool sh_column_transform_moments(double *mean, double *deviation, const double *values,
                                 size_t count);

#endif
