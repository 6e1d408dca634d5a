/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quality of a model, for files and tables: the figures of train/metrics.h with the data's
 * names of classes and targets.
 *
 * The JSON; null: no value:
 *
 *     {"task": "classification", "samples": 360, "loss": 0.1, "accuracy": 0.97, "top5": null,
 *      "balanced_accuracy": 0.96, "f1": 0.96, "auc": null, "average_precision": null,
 *      "classes": [{"name": "rose", "samples": 40, "answers": 41, "right": 39, "precision": 0.95,
 *                   "recall": 0.97, "f1": 0.96, "auc": null, "average_precision": null}],
 *      "confusion": [[39, 1], [2, 318]],                    rows: targets, columns: answers
 *      "mae": null, "rmse": null, "r2": null,
 *      "targets": [{"name": "price", "mae": 3.1, "rmse": 4.2, "r2": 0.9}],
 *      "error95": null, "error99": null}
 *
 * "classes" exists for classes and labels, "confusion" for at most SH_METRICS_MATRIX_MOST classes,
 * "targets" for numbers, in the units of the data's source.
 *
 * Threads: caller locks the metrics.
 */
#ifndef SHOAL_NODE_ASSESSMENT_H
#define SHOAL_NODE_ASSESSMENT_H

#include <jansson.h>

#include "data/dataset.h"
#include "train/metrics.h"

/* Borrowed for the call. */
typedef struct sh_assessment {
    sh_metrics *metrics;
    const sh_dataset_info *info;
    const char *description; /* of the data set; NULL: numbers replace names */
    sh_split split;
    double loss; /* mean */
} sh_assessment;

/* `*json` is owned: json_decref(). SH_NO_MEMORY. */
sh_status sh_assessment_json(json_t **json, const sh_assessment *all) SHOAL_CHECKED;

/*
 * CSV (RFC 4180) of the samples that the metrics kept, largest loss first, with a header: index,
 * split, target and answer (names; labels separated by ;, numbers in a pair of columns each), the
 * probability of the answer (classes), loss. `*text` is owned: free().
 */
sh_status sh_assessment_worst(char **text, const sh_assessment *all) SHOAL_CHECKED;

#endif
