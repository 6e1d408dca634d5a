/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the most typical and the oddest samples.
 *
 *     {"typical": [{"place": "training 4", "target": "rose", "distance": 0.31, "picture": {...}}],
 *      "odd": [...]}                                     pictures: data/thumbnail.h
 *
 * A sample has at most SH_EXAMPLES_FEATURES features, means over grid cells. Its distance is the
 * root mean square of (feature - mean) / deviation, without constant features. The mean is over the
 * training samples of its class; over all if targets are not classes, the class has no training
 * samples, or there are too many classes. The deviation is over all training samples.
 *
 * Typical samples have the least distances, in equal numbers per class (one each for 5 of 5
 * classes); odd ones the largest. Both splits are ranked; ties by place, training first.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_EXAMPLES_H
#define SHOAL_DATA_EXAMPLES_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_EXAMPLES_FEATURES 256
#define SH_EXAMPLES_MOST 24 /* per list */

/* Reads every sample twice; memory does not depend on their number. Lists at most SH_EXAMPLES_MOST,
 * whatever `count`. Free `*json` with json_decref(). Fails like sh_dataset_read and with
 * SH_NO_MEMORY. */
sh_status sh_examples_json(json_t **json, const sh_dataset *dataset, uint32_t count) SHOAL_CHECKED;

/* Formats a target: "rose", "red, round", "price 3.1"; JSON null if samples are their own targets.
 * Free with json_decref(). */
json_t *sh_examples_target(const sh_dataset_info *info, const json_t *description,
                           const void *target);

#endif
