/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to a column of a table to make inputs of a network of it.
 *
 *     number, date   (value - mean) / deviation; where it is missing the median takes its place,
 *                    and one more input says so: 1 where it was missing, else 0
 *     ordinal        the place of the word in its order, 0, 1, ..., as a number
 *     category       one input for each category, 1 for the one that it is; all 0 where it is
 *                    missing or none of them
 *
 *     SH_TRY(sh_treatment_value(&age, &value, "42.5"));
 *     sh_treatment_apply(&age, inputs, value);          // age.outputs numbers
 *
 * Its figures are those of the training samples alone, added up as doubles in the order of the
 * rows.
 *
 * Threads: applying any; the rest caller locks.
 */
#ifndef SHOAL_DATA_TABLE_TREATMENT_H
#define SHOAL_DATA_TABLE_TREATMENT_H

#include <jansson.h>

#include "data/table/column_survey.h"

typedef struct sh_treatment {
    char *name;      /* of the column; owned */
    uint32_t column; /* from 0 */
    sh_kind kind;
    sh_lexicon words; /* ordinal: the order; category: in the table, from sh_treatment_fit on those
                       that training samples have */
    double median, mean, deviation; /* deviation 0: the values are all the same, none is an input */
    bool indicator;                 /* an input says where the value is missing */
    uint32_t outputs;               /* inputs of the network; 0: the column is constant */
} sh_treatment;

/* Owned: sh_treatment_release it. `words` is taken over and left empty. */
sh_status sh_treatment_init(sh_treatment *treatment, const char *name, uint32_t column,
                            sh_kind kind, sh_lexicon *words) SHOAL_CHECKED;
void sh_treatment_release(sh_treatment *treatment); /* zeroed is fine */

/*
 * What stands in a field as a number: NaN where it is missing, of a category its number and -1
 * where it is none. Fails with SH_FORMAT for what is no number, date or word of the order; the
 * message says what it is, not where.
 */
sh_status sh_treatment_value(const sh_treatment *treatment, double *value,
                             const char *text) SHOAL_CHECKED;

/*
 * Finds the figures by the `count` values of the training samples. Values of a category are
 * numbered anew, as `renumbered` says: of each number before, the one behind it (-1: none); owned,
 * NULL for other kinds.
 */
sh_status sh_treatment_fit(sh_treatment *treatment, int32_t **renumbered, const double *values,
                           size_t count) SHOAL_CHECKED;

/* Writes treatment->outputs inputs; false where one is not finite as a float. */
bool sh_treatment_apply(const sh_treatment *treatment, float *inputs, double value);

/* An object that says all of it: "name", "column" (from 1), "kind", and "mean", "deviation",
 * "median", "missing" (whether there is the input that says so) or "categories" or "order". NULL:
 * no memory. */
json_t *sh_treatment_json(const sh_treatment *treatment);

/*
 * The treatment that such an object says, for new rows: outputs are as they were. Owned:
 * sh_treatment_release it. Fails with SH_FORMAT where the object is none of these.
 */
sh_status sh_treatment_parse(sh_treatment *treatment, const json_t *object) SHOAL_CHECKED;

/* Mean and deviation (over n) of those of `count` values that are not NaN. False: there are none,
 * or their squares are too large for a double. */
bool sh_treatment_moments(double *mean, double *deviation, const double *values, size_t count);

#endif
