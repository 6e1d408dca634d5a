/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a data set, before anything trains with it.
 *
 *     json_t *json;
 *     SH_TRY(sh_survey_json(&json, dataset));
 *
 * The JSON; what has no value is null, and lists have their first SH_SURVEY_LIST items:
 *
 *     {"kind": "photos", "task": "classification", "sample": [3, 64, 64], "element": "byte",
 *      "outputs": 2, "fingerprint": "...", "training": 900, "validation": 100,
 *      "classes": [{"name": "rose", "training": 700, "validation": 70}],
 *      "imbalance": 3.5,                     largest to smallest class of the training samples
 *      "targets": [{"name": "price", "least": 1, "most": 9, "mean": 4, "deviation": 2}],
 *      "least": 0, "most": 255,              values of the training samples, as they are stored
 *      "constant_inputs": {"count": 1, "first": [17]},       elements that never change in training
 *      "blank_samples": {"count": 1, "first": ["training 3"]},   one value everywhere
 *      "duplicates": {"samples": 3,          beside the first of each kind
 *                     "validation": 1,       of these: validation samples that training has too
 *                     "contradicting": 0,    samples with another target than an equal one
 *                     "first": [["training 4", "validation 2"]], "searched": 1000},
 *      "notes": [...], "warnings": [...]}    the reader's, the survey's; each a line
 *
 * "classes" and "imbalance" are there for classes and labels, "targets" for numbers: figures of the
 * training samples in the units of the source. Samples are equal where the SHA-256 of their bytes
 * is; of sets with more than SH_SURVEY_SEARCHED samples the rest is not searched for equal ones.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_SURVEY_H
#define SHOAL_DATA_SURVEY_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_SURVEY_LIST 10
#define SH_SURVEY_SEARCHED (1u << 21) /* 20 bytes each */

/* Reads every sample once. `*json` is owned: json_decref(). Fails as sh_dataset_read does, and with
 * SH_NO_MEMORY. */
sh_status sh_survey_json(json_t **json, const sh_dataset *dataset) SHOAL_CHECKED;

#endif
