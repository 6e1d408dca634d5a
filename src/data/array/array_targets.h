/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an array y says of samples: classes, labels or numbers.
 *
 *     sh_array_targets targets = {0};
 *     const sh_array *y[] = {&train_y, &test_y};
 *     SH_TRY(sh_array_targets_find(&targets, y, 2, ""));   // kind and classes, by all of both
 *     SH_TRY(sh_array_targets_scale(&targets, &train_y, rows, count)); // by training rows alone
 *     SH_TRY(sh_array_targets_read(&targets, &test_y, 41, &class));
 *     sh_array_targets_release(&targets);
 *
 *     y                                     without a task
 *     [N] or [N][1], whole numbers          classification
 *     [N] or [N][1], floats                 regression
 *     [N][K], 0 and 1, one 1 in each row    classification: one-hot
 *     [N][K], 0 and 1                       multi-label
 *     [N][K], anything else                 regression of K numbers
 *
 * Classes are 0 .. K - 1 as they stand where they begin at 0 and at least half of the numbers
 * below K occur; otherwise the numbers that occur, in order.
 *
 * Threads: `read` any, several at once; the rest one at a time.
 */
#ifndef SHOAL_DATA_ARRAY_ARRAY_TARGETS_H
#define SHOAL_DATA_ARRAY_ARRAY_TARGETS_H

#include <jansson.h>

#include "data/array/array_file.h"
#include "tensor/target.h"

typedef struct sh_array_targets {
    sh_target kind;
    uint32_t outputs; /* classes, labels or numbers */
    uint32_t columns; /* of y */
    bool one_hot;

    /* Classification: the numbers that occur, ascending; owned. `shifted`: class i is values[i],
     * otherwise class i is number i. */
    double *values;
    uint32_t value_count;
    bool shifted;

    double *mean, *deviation; /* regression: of each number; owned */
} sh_array_targets;

/*
 * Looks through all of `count` arrays y; `task` is a name of sh_target or "". SH_INVALID where they
 * do not fit the task, SH_NUMERIC where a number is not finite, which names the array and the
 * sample. On failure nothing is left to release.
 */
sh_status sh_array_targets_find(sh_array_targets *targets, const sh_array *const *y, size_t count,
                                const char *task) SHOAL_CHECKED;

/* Sets the figures of regression: of `count` rows of y, or of the first ones where rows is NULL. */
sh_status sh_array_targets_scale(sh_array_targets *targets, const sh_array *y, const uint32_t *rows,
                                 uint32_t count) SHOAL_CHECKED;

/* The target of a row, as sh_dataset_read gives it. */
sh_status sh_array_targets_read(const sh_array_targets *targets, const sh_array *y, uint32_t row,
                                void *target) SHOAL_CHECKED;

/* Adds "classes" or "targets" to a JSON object (source.h). SH_NO_MEMORY. */
sh_status sh_array_targets_describe(const sh_array_targets *targets, json_t *about) SHOAL_CHECKED;

/* Frees; all zeros is fine. */
void sh_array_targets_release(sh_array_targets *targets);

#endif
