/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data set of a mirror: reads samples from where the manifest says that they lie, whatever kind
 * of data it is. It opens without a single block: what it tells of itself stands in the manifest.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "data/dataset_impl.h"
#include "data/mirror.h"

typedef struct mirror_set {
    sh_dataset base;
    sh_mirror *mirror; /* owned */
} mirror_set;

static const sh_contents *contents_of(const mirror_set *set)
{
    return &sh_mirror_manifest(set->mirror)->contents;
}

static uint64_t offset_of(const sh_contents_place *place, uint32_t index)
{
    return place->first + index * place->stride;
}

static size_t image_bytes(const sh_dataset_info *info)
{
    return info->channels * info->height * info->width;
}

static sh_status mirror_set_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                                 uint8_t *bytes, int32_t *label)
{
    const mirror_set *set = (const mirror_set *)dataset;
    const sh_contents_place *image = &contents_of(set)->image[split];
    const sh_contents_place *mark = &contents_of(set)->label[split];
    const sh_dataset_info *info = &dataset->info;
    uint8_t class;
    SH_TRY(sh_mirror_read(set->mirror, mark->file, offset_of(mark, index), &class, 1));
    SH_TRY(sh_mirror_read(set->mirror, image->file, offset_of(image, index), bytes,
                          image_bytes(info)));
    if (class >= info->classes)
        return sh_fail(SH_CORRUPT, "%s: %s sample %u has label %u of %u", info->name,
                       sh_split_name(split), index, class, info->classes);
    *label = class;
    return SH_OK;
}

static bool mirror_set_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    const mirror_set *set = (const mirror_set *)dataset;
    const sh_contents_place *image = &contents_of(set)->image[split];
    const sh_contents_place *mark = &contents_of(set)->label[split];
    const bool labelled = sh_mirror_touch(set->mirror, mark->file, offset_of(mark, index), 1);
    return sh_mirror_touch(set->mirror, image->file, offset_of(image, index),
                           image_bytes(&dataset->info)) &&
           labelled;
}

static void mirror_set_contents(const sh_dataset *dataset, sh_contents *contents)
{
    *contents = *contents_of((const mirror_set *)dataset);
}

/* For others, who are told no instead of waiting: they have other sources. */
static sh_status mirror_set_fetch(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                                  uint8_t *bytes, size_t count)
{
    sh_mirror *mirror = ((const mirror_set *)dataset)->mirror;
    if (!sh_mirror_touch(mirror, file, offset, count))
        return sh_fail(SH_NOT_FOUND, "byte %" PRIu64 " of %s is not here yet", offset,
                       contents_of((const mirror_set *)dataset)->file[file].name);
    return sh_mirror_read(mirror, file, offset, bytes, count);
}

static void mirror_set_close(sh_dataset *dataset)
{
    sh_mirror_close(((mirror_set *)dataset)->mirror);
    free(dataset);
}

static const sh_dataset_ops mirror_set_ops = {
    .name = "mirror",
    .read = mirror_set_read,
    .touch = mirror_set_touch,
    .contents = mirror_set_contents,
    .fetch = mirror_set_fetch,
    .close = mirror_set_close,
};

sh_status sh_mirror_dataset(sh_dataset **dataset, sh_mirror *mirror)
{
    mirror_set *set = calloc(1, sizeof *set);
    if (set == NULL) {
        sh_mirror_close(mirror);
        return sh_fail_memory(sizeof *set, "the data set");
    }
    set->base.ops = &mirror_set_ops;
    set->base.info = sh_mirror_manifest(mirror)->info;
    set->mirror = mirror;
    *dataset = &set->base;
    return SH_OK;
}
