/* SPDX-License-Identifier: Apache-2.0 */
/* A counting sort by class. */
#include "data/class_index.h"

#include <stdlib.h>

struct sh_class_index {
    uint32_t classes;
    uint32_t *first; /* [classes + 1] starts in `samples` */
    uint32_t *samples;
};

static sh_status read_classes(int32_t *classes, const sh_dataset *dataset)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    sh_status status = SH_OK;
    void *spare = malloc(sh_dataset_bytes(info));
    if (spare == NULL)
        return sh_fail_memory(sh_dataset_bytes(info), "a sample");
    for (uint32_t i = 0; i < info->count[SH_SPLIT_TRAIN]; i++)
        SH_TRY_DONE(sh_dataset_read_target(dataset, SH_SPLIT_TRAIN, i, spare, &classes[i]));
done:
    free(spare);
    return status;
}

/* `ends` has `outputs` zeros. */
static void sort(sh_class_index *index, uint32_t *ends, const int32_t *classes, uint32_t count,
                 uint32_t outputs)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        ends[classes[i]]++;
    for (uint32_t k = 0; k < outputs; k++) {
        const uint32_t own = ends[k];
        ends[k] = sum;
        if (own == 0)
            continue;
        index->first[index->classes++] = sum;
        sum += own;
    }
    index->first[index->classes] = sum;
    for (uint32_t i = 0; i < count; i++)
        index->samples[ends[classes[i]]++] = i;
}

sh_status sh_class_index_new(sh_class_index **index, const sh_dataset *dataset)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    const uint32_t count = info->count[SH_SPLIT_TRAIN];
    sh_status status = SH_OK;
    if (info->target != SH_TARGET_CLASS)
        return sh_fail(SH_INVALID, "%s has no classes but targets for %s", info->name,
                       sh_target_name(info->target));
    sh_class_index *fresh = calloc(1, sizeof *fresh);
    int32_t *classes = calloc(count, sizeof *classes);
    uint32_t *ends = calloc(info->outputs, sizeof *ends);
    if (fresh != NULL) {
        fresh->first = calloc((size_t)info->outputs + 1, sizeof *fresh->first);
        fresh->samples = calloc(count, sizeof *fresh->samples);
    }
    if (fresh == NULL || classes == NULL || ends == NULL || fresh->first == NULL ||
        fresh->samples == NULL)
        SH_TRY_DONE(sh_fail_memory(2 * (size_t)count * sizeof *classes, "the samples of classes"));
    SH_TRY_DONE(read_classes(classes, dataset));
    sort(fresh, ends, classes, count, info->outputs);
    *index = fresh;
    fresh = NULL;
done:
    free(ends);
    free(classes);
    sh_class_index_free(fresh);
    return status;
}

uint32_t sh_class_index_classes(const sh_class_index *index)
{
    return index->classes;
}

uint32_t sh_class_index_count(const sh_class_index *index, uint32_t class)
{
    return index->first[class + 1] - index->first[class];
}

uint32_t sh_class_index_sample(const sh_class_index *index, uint32_t class, uint32_t i)
{
    return index->samples[index->first[class] + i];
}

void sh_class_index_free(sh_class_index *index)
{
    if (index == NULL)
        return;
    free(index->first);
    free(index->samples);
    free(index);
}
