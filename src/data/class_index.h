/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training samples of each class, for balanced sampling (order.h).
 *
 *     sh_class_index *index;
 *     SH_TRY(sh_class_index_new(&index, dataset));
 *     for (uint32_t i = 0; i < sh_class_index_count(index, class); i++)
 *         ... sh_class_index_sample(index, class, i) ...
 *     sh_class_index_free(index);
 *
 * Classes without training samples are skipped in the numbering. Uses 4 bytes per sample.
 *
 * Threads: any; immutable.
 */
#ifndef SHOAL_DATA_CLASS_INDEX_H
#define SHOAL_DATA_CLASS_INDEX_H

#include "data/dataset.h"

typedef struct sh_class_index sh_class_index;

/*
 * Reads the targets of all training samples, and only these if they are stored separately: a
 * device without the data blocks until those blocks arrive. Free with sh_class_index_free. Fails
 * with SH_INVALID (targets are not classes) and like reading.
 */
sh_status sh_class_index_new(sh_class_index **index, const sh_dataset *dataset) SHOAL_CHECKED;

/* At least 1. */
uint32_t sh_class_index_classes(const sh_class_index *index);

/* At least 1. */
uint32_t sh_class_index_count(const sh_class_index *index, uint32_t class);

/* Sample `i` of a class, in the order of the data. */
uint32_t sh_class_index_sample(const sh_class_index *index, uint32_t class, uint32_t i);

/* Accepts NULL. */
void sh_class_index_free(sh_class_index *index);

#endif
