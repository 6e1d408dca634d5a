/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: an in-memory data set in which only classes matter.
 *
 *     classes_set set;
 *     classes_init(&set, (int32_t[]){0, 2, 2}, 3, 4);
 *     assert_ok(sh_class_index_new(&index, &set.base));
 *
 * Threads: one.
 */
#ifndef SHOAL_DATA_CLASSES_FIXTURE_H
#define SHOAL_DATA_CLASSES_FIXTURE_H

#include "base/test.h"
#include "data/dataset_impl.h"

typedef struct classes_set {
    sh_dataset base;
    const int32_t *classes; /* borrowed */
} classes_set;

static inline sh_status classes_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                                     void *sample, void *target)
{
    const classes_set *set = (const classes_set *)dataset;
    assert_int_equal(split, SH_SPLIT_TRAIN);
    *(uint8_t *)sample = (uint8_t)index;
    *(int32_t *)target = set->classes[index];
    return SH_OK;
}

static inline void classes_init(classes_set *set, const int32_t *of, uint32_t count,
                                uint32_t classes)
{
    static const sh_dataset_ops ops = {.read = classes_read};
    *set = (classes_set){.base = {.ops = &ops,
                                  .info = {.name = "classes",
                                           .channels = 1,
                                           .height = 1,
                                           .width = 1,
                                           .outputs = classes,
                                           .count = {count, 1}}},
                         .classes = of};
}

#endif
