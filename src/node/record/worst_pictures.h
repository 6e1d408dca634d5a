/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples with the largest losses and their pictures, for worst.json in a run's folder, to view
 * them without the data.
 *
 *     {"split": "validation",
 *      "samples": [{"index": 17, "target": "rose", "answer": "tulip", "probability": 0.93,
 *                   "loss": 4.1, "picture": {...}}]}                    data/thumbnail.h
 *
 * At most SH_WORST_PICTURES samples, largest loss first. "answer" and "target" are texts
 * (sh_examples_target), null if samples are their own targets; "probability" is that of the answer,
 * null if targets are not classes.
 *
 * Threads: caller locks the metrics.
 */
#ifndef SHOAL_NODE_WORST_PICTURES_H
#define SHOAL_NODE_WORST_PICTURES_H

#include "node/record/assessment.h"

#define SH_WORST_PICTURES 24

/* `dataset`: the measured samples. `*json` is owned: json_decref(). Fails as sh_dataset_read, or
 * with SH_NO_MEMORY. */
sh_status sh_worst_pictures_json(json_t **json, const sh_assessment *all,
                                 const sh_dataset *dataset) SHOAL_CHECKED;

/* Likewise as text: owned, free(). */
sh_status sh_worst_pictures_text(char **text, const sh_assessment *all,
                                 const sh_dataset *dataset) SHOAL_CHECKED;

#endif
