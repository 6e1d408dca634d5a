/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training samples of each class, by number: what balanced sampling draws from (order.h).
 *
 *     sh_class_index *index;
 *     SH_TRY(sh_class_index_new(&index, dataset));
 *     for (uint32_t i = 0; i < sh_class_index_count(index, class); i++)
 *         ... sh_class_index_sample(index, class, i) ...
 *     sh_class_index_free(index);
 *
 * Classes here are those with training samples, numbered from 0 without gaps. It takes 4 bytes a
 * sample.
 *
 * Threads: any; an index never changes.
 */
#ifndef SHOAL_DATA_CLASS_INDEX_H
#define SHOAL_DATA_CLASS_INDEX_H

#include "data/dataset.h"

typedef struct sh_class_index sh_class_index;

/*
 * Reads the targets of all training samples, and nothing else of data that keep targets apart from
 * samples: a device without the data fetches only these blocks, and waits for them. Owned:
 * sh_class_index_free it. Fails with SH_INVALID (the targets are no classes), and as reading does.
 */
sh_status sh_class_index_new(sh_class_index **index, const sh_dataset *dataset) SHOAL_CHECKED;

/* Classes with training samples, at least 1. */
uint32_t sh_class_index_classes(const sh_class_index *index);

/* Training samples of class number `class`, at least 1. */
uint32_t sh_class_index_count(const sh_class_index *index, uint32_t class);

/* Number `i` of these, in the order of the data. */
uint32_t sh_class_index_sample(const sh_class_index *index, uint32_t class, uint32_t i);

/* NULL is fine. */
void sh_class_index_free(sh_class_index *index);

#endif
