/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples to look at: the most typical of a data set and the oddest.
 *
 *     json_t *examples;
 *     SH_TRY(sh_examples_json(&examples, dataset, 5));
 *
 *     {"typical": [{"place": "training 4", "target": "rose", "distance": 0.31, "picture": {...}}],
 *      "odd": [...]}                                     pictures: data/thumbnail.h
 *
 * The measure: a sample is made into at most SH_EXAMPLES_FEATURES features, each the mean over a
 * cell of a grid; from each the mean of the feature over the training samples of the sample's class
 * is taken away (of all training samples where targets are no classes, where a class has none, and
 * where there are too many classes to remember); each is divided by its deviation over all training
 * samples. The distance is the root of the mean of the squares. Features that never change do not
 * count.
 *
 * Typical are those with the least distances, as many of each class as are needed for all of them:
 * of 5 at most one of a class where there are 5 classes. Odd are those with the largest.
 * Equal distances go by place, training first. Both splits are looked at.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_EXAMPLES_H
#define SHOAL_DATA_EXAMPLES_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_EXAMPLES_FEATURES 256
#define SH_EXAMPLES_MOST 24 /* of each kind */

/* Reads every sample twice; memory does not depend on their number. At most SH_EXAMPLES_MOST of
 * each kind. `*json` is owned: json_decref(). Fails as sh_dataset_read does, and with SH_NO_MEMORY.
 */
sh_status sh_examples_json(json_t **json, const sh_dataset *dataset, uint32_t count) SHOAL_CHECKED;

/* The target of a sample as text, such as "rose", "red, round" or "price 3.1"; NULL where samples
 * are their own. `target` as sh_dataset_read gives it. Owned: json_decref(). */
json_t *sh_examples_target(const sh_dataset_info *info, const json_t *description,
                           const void *target);

#endif
