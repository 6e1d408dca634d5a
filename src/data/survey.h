/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surveys the content of a data set before training.
 *
 * JSON, with null for absent values and at most SH_SURVEY_LIST items per list:
 *
 *     {"kind": "photos", "task": "classification", "sample": [3, 64, 64], "element": "byte",
 *      "outputs": 2, "fingerprint": "...", "training": 900, "validation": 100,
 *      "classes": [{"name": "rose", "training": 700, "validation": 70}],
 *      "imbalance": 3.5,                     largest / smallest class in training
 *      "targets": [{"name": "price", "least": 1, "most": 9, "mean": 4, "deviation": 2}],
 *      "least": 0, "most": 255,              stored values of training samples
 *      "constant_inputs": {"count": 1, "first": [17]},       elements constant in training
 *      "blank_samples": {"count": 1, "first": ["training 3"]},   all elements equal
 *      "duplicates": {"samples": 3,          without the first of each kind
 *                     "validation": 1,       of these: validation samples also in training
 *                     "contradicting": 0,    samples with another target than an equal one
 *                     "first": [["training 4", "validation 2"]], "searched": 1000},
 *      "notes": [...], "warnings": [...]}    lines of the reader, of the survey
 *
 * "classes" and "imbalance" are for classes and labels, "targets" for numbers, over training
 * samples in the source's units. Samples are equal if their SHA-256 is; at most SH_SURVEY_SEARCHED
 * are compared.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_SURVEY_H
#define SHOAL_DATA_SURVEY_H

#include <jansson.h>

#include "data/dataset.h"

#define SH_SURVEY_LIST 10
#define SH_SURVEY_SEARCHED (1u << 21) /* 20 bytes each */

/* Reads every sample once. Free `*json` with json_decref(). Fails like sh_dataset_read and with
 * SH_NO_MEMORY. */
sh_status sh_survey_json(json_t **json, const sh_dataset *dataset) SHOAL_CHECKED;

#endif
