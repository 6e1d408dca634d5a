/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets of samples from an array y: classes, labels or numbers.
 *
 *     SH_TRY(sh_array_targets_find(&targets, y, 2, ""));   // kind and classes, from both arrays
 *     SH_TRY(sh_array_targets_scale(&targets, &train_y, rows, count)); // training rows only
 *     SH_TRY(sh_array_targets_read(&targets, &test_y, 41, &class));
 *
 *     y                                     task if none is given
 *     [N] or [N][1], whole numbers          classification
 *     [N] or [N][1], floats                 regression
 *     [N][K], 0 and 1, one 1 in each row    classification: one-hot
 *     [N][K], 0 and 1                       multi-label
 *     [N][K], anything else                 regression of K numbers
 *
 * Class numbers are the values of y themselves if these begin at 0 and at least half of 0 .. K - 1
 * occur. Otherwise class i is the i-th smallest value that occurs.
 *
 * Threads: any for `read`; for the others the caller locks.
 */
#ifndef SHOAL_DATA_ARRAY_ARRAY_TARGETS_H
#define SHOAL_DATA_ARRAY_ARRAY_TARGETS_H

#include <jansson.h>

#include "data/array/array_file.h"
#include "tensor/target.h"

typedef struct sh_array_targets {
    sh_target kind;
    uint32_t outputs;
    uint32_t columns; /* of y */
    bool one_hot;

    /* Classification: the distinct values, ascending; owned. Class i is values[i] if `shifted`,
     * otherwise the value i. */
    double *values;
    uint32_t value_count;
    bool shifted;

    double *mean, *deviation; /* regression: of each column; owned */
} sh_array_targets;

/*
 * Reads all `count` arrays y completely. `task` is the name of an sh_target or "". SH_INVALID if
 * the arrays do not fit the task, SH_NUMERIC if a number is not finite (the message names the array
 * and the sample), SH_MISMATCH, SH_LIMIT. Sets `*targets`, which is owned, on success only.
 */
sh_status sh_array_targets_find(sh_array_targets *targets, const sh_array *const *y, size_t count,
                                const char *task) SHOAL_CHECKED;

/* Regression: sets mean and deviation from `count` rows of y; the first rows if `rows` is NULL. */
sh_status sh_array_targets_scale(sh_array_targets *targets, const sh_array *y, const uint32_t *rows,
                                 uint32_t count) SHOAL_CHECKED;

/* Reads the target of a row in the form of sh_dataset_read. */
sh_status sh_array_targets_read(const sh_array_targets *targets, const sh_array *y, uint32_t row,
                                void *target) SHOAL_CHECKED;

/* Adds "classes" or "targets" to a JSON object (source.h). SH_NO_MEMORY. */
sh_status sh_array_targets_describe(const sh_array_targets *targets, json_t *about) SHOAL_CHECKED;

/* Zeroes it. Safe for a zeroed value. */
void sh_array_targets_release(sh_array_targets *targets);

#endif
