/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training samples of each class, for balanced sampling (order.h).
 *
 * Classes without training samples are skipped in the numbering. Uses 4 bytes per sample.
 *
 *     sh_class_index *index;
 *     SH_TRY(sh_class_index_new(&index, dataset));
 *     for (uint32_t i = 0; i < sh_class_index_count(index, class); i++)
 *         ... sh_class_index_sample(index, class, i) ...
 *     sh_class_index_free(index);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_CLASS_INDEX_H
#define SHOAL_DATA_CLASS_INDEX_H

#include "data/dataset.h"

typedef struct sh_class_index sh_class_index;

/*
 * Reads the targets of all training samples, and only these if they are stored separately. On a
 * device without the data, waits until they arrive. Fails with SH_INVALID (targets are not classes)
 * and like reading.
 */
sh_status sh_class_index_new(sh_class_index **index, const sh_dataset *dataset) SHOAL_CHECKED;

uint32_t sh_class_index_classes(const sh_class_index *index);

/* At least 1, like the number of classes. */
uint32_t sh_class_index_count(const sh_class_index *index, uint32_t class);

/* Returns sample `i` in the order of the data. */
uint32_t sh_class_index_sample(const sh_class_index *index, uint32_t class, uint32_t i);

void sh_class_index_free(sh_class_index *index);

#endif
