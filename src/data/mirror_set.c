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

static sh_status mirror_set_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                                 uint8_t *bytes, int32_t *label)
{
    sh_mirror *mirror = ((const mirror_set *)dataset)->mirror;
    const sh_contents_place *image = &dataset->contents->image[split];
    const sh_contents_place *mark = &dataset->contents->label[split];
    const sh_dataset_info *info = &dataset->info;
    uint8_t class;
    SH_TRY(sh_mirror_read(mirror, mark->file, sh_contents_offset(mark, index), &class, 1));
    SH_TRY(sh_mirror_read(mirror, image->file, sh_contents_offset(image, index), bytes,
                          sh_dataset_bytes(info)));
    if (class >= info->classes)
        return sh_fail(SH_CORRUPT, "%s: %s sample %u has label %u of %u", info->name,
                       sh_split_name(split), index, class, info->classes);
    *label = class;
    return SH_OK;
}

static bool mirror_set_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    sh_mirror *mirror = ((const mirror_set *)dataset)->mirror;
    const sh_contents_place *image = &dataset->contents->image[split];
    const sh_contents_place *mark = &dataset->contents->label[split];
    const bool labelled = sh_mirror_touch(mirror, mark->file, sh_contents_offset(mark, index), 1);
    return sh_mirror_touch(mirror, image->file, sh_contents_offset(image, index),
                           sh_dataset_bytes(&dataset->info)) &&
           labelled;
}

/* For others, who are told no instead of waiting: they have other sources. */
static sh_status mirror_set_fetch(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                                  uint8_t *bytes, size_t count)
{
    sh_mirror *mirror = ((const mirror_set *)dataset)->mirror;
    if (!sh_mirror_touch(mirror, file, offset, count))
        return sh_fail(SH_NOT_FOUND, "byte %" PRIu64 " of %s is not here yet", offset,
                       dataset->contents->file[file].name);
    return sh_mirror_read(mirror, file, offset, bytes, count);
}

static void mirror_set_close(sh_dataset *dataset)
{
    sh_mirror_close(((mirror_set *)dataset)->mirror);
    free(dataset);
}

static const sh_dataset_ops mirror_set_ops = {
    .read = mirror_set_read,
    .touch = mirror_set_touch,
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
    set->base.contents = &sh_mirror_manifest(mirror)->contents;
    set->mirror = mirror;
    *dataset = &set->base;
    return SH_OK;
}
