/* SPDX-License-Identifier: Apache-2.0 */
#include "data/contents.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "data/dataset_impl.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

sh_status sh_contents_of(const sh_contents **contents, const sh_dataset *dataset)
{
    if (dataset->contents == NULL)
        return sh_fail(SH_UNSUPPORTED, "%s is not stored on disk: each device generates it",
                       dataset->info.name);
    *contents = dataset->contents;
    return SH_OK;
}

sh_status sh_contents_read(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                           uint8_t *bytes, size_t count)
{
    const sh_contents *contents;
    SH_TRY(sh_contents_of(&contents, dataset));
    if (file >= contents->files)
        return sh_fail(SH_INVALID, "%s has no file number %u: there are %u", dataset->info.name,
                       file, contents->files);
    const sh_contents_file *f = &contents->file[file];
    if (offset > f->bytes || count > f->bytes - offset)
        return sh_fail(SH_INVALID, "%s: byte %" PRIu64 " and %zu more are not within its %" PRIu64,
                       f->name, offset, count, f->bytes);
    return dataset->ops->fetch(dataset, file, offset, bytes, count);
}

/* Fails unless the items fit in their file without overlap. */
static sh_status check_place(const sh_contents *contents, const sh_contents_place *place,
                             uint32_t count, uint64_t bytes, const char *what)
{
    if (place->file >= contents->files)
        return sh_fail(SH_FORMAT, "its %s are in file %u of %u", what, place->file,
                       contents->files);
    const sh_contents_file *file = &contents->file[place->file];
    /* No products: these could overflow. */
    if (place->stride < bytes || place->first > file->bytes || bytes > file->bytes - place->first ||
        (file->bytes - place->first - bytes) / place->stride < count - 1)
        return sh_fail(SH_FORMAT, "%s: its %" PRIu64 " bytes do not hold %u %s", file->name,
                       file->bytes, count, what);
    return SH_OK;
}

static sh_status check_target(const sh_contents *contents, const sh_dataset_info *info)
{
    const bool byte = contents->target_bytes == 1 && info->target == SH_TARGET_CLASS;
    const uint32_t least = info->target == SH_TARGET_CLASS ? 2 : 1;
    const uint32_t most = byte ? SH_CONTENTS_BYTE_CLASSES : SH_CONTENTS_OUTPUTS_MOST;
    if (info->target < 0 || info->target >= SH_TARGETS)
        return sh_fail(SH_FORMAT, "its targets are of an unknown kind");
    if (info->target == SH_TARGET_SAMPLE)
        return contents->target_bytes == 0 && info->outputs == sh_dataset_elements(info)
                   ? SH_OK
                   : sh_fail(SH_FORMAT, "its samples are not their own targets");
    if (info->outputs < least || info->outputs > most)
        return sh_fail(SH_FORMAT, "its %u %s are outside of %u to %u", info->outputs,
                       info->target == SH_TARGET_CLASS ? "classes" : "outputs", least, most);
    if (!byte && contents->target_bytes != sh_target_bytes(info->target, info->outputs))
        return sh_fail(SH_FORMAT, "its targets of %u bytes do not hold %u outputs",
                       contents->target_bytes, info->outputs);
    return SH_OK;
}

sh_status sh_contents_target(void *target, const sh_contents *contents, const sh_dataset_info *info,
                             const uint8_t *stored)
{
    if (info->target != SH_TARGET_CLASS) {
        memcpy(target, stored, contents->target_bytes);
        const float *numbers = target;
        for (uint32_t i = 0; i < contents->target_bytes / sizeof *numbers; i++)
            if (!isfinite(numbers[i]))
                return sh_fail(SH_CORRUPT, "target %u is not a number", i);
        return SH_OK;
    }
    int32_t class = stored[0];
    if (contents->target_bytes != 1)
        memcpy(&class, stored, sizeof class);
    if (class < 0 || (uint32_t) class >= info->outputs)
        return sh_fail(SH_CORRUPT, "class %d of %u", class, info->outputs);
    memcpy(target, &class, sizeof class);
    return SH_OK;
}

sh_status sh_contents_check(const sh_contents *contents, const sh_dataset_info *info)
{
    const bool pixels = info->element == SH_ELEMENT_BYTE;
    const size_t channels = pixels ? SH_DATASET_CHANNELS_MOST : SH_CONTENTS_SIDE_MOST;
    if ((!pixels && info->element != SH_ELEMENT_FLOAT) || info->channels == 0 ||
        info->channels > channels || info->height == 0 || info->height > SH_CONTENTS_SIDE_MOST ||
        info->width == 0 || info->width > SH_CONTENTS_SIDE_MOST ||
        (uint64_t)info->channels * info->height > SH_CONTENTS_SAMPLE_MOST / info->width / 4)
        return sh_fail(SH_FORMAT, "its samples of %zu x %zu x %zu exceed what can be read",
                       info->channels, info->height, info->width);
    SH_TRY(check_target(contents, info));
    for (int split = 0; split < SH_SPLITS; split++)
        if (info->count[split] == 0)
            return sh_fail(SH_FORMAT, "it has no %s samples", sh_split_name((sh_split)split));

    if (contents->files == 0 || contents->files > SH_CONTENTS_FILES)
        return sh_fail(SH_FORMAT, "it has %u files; 1 to %d can be", contents->files,
                       SH_CONTENTS_FILES);
    uint64_t left = SH_CONTENTS_BYTES_MOST;
    for (uint32_t i = 0; i < contents->files; i++) {
        const sh_contents_file *file = &contents->file[i];
        const char *end = memchr(file->name, '\0', SH_CONTENTS_NAME);
        if (end == NULL || end == file->name || file->name[0] == '.' ||
            file->name + strspn(file->name, PLAIN) != end)
            return sh_fail(SH_FORMAT, "file %u has no plain name", i);
        if (file->bytes == 0)
            return sh_fail(SH_FORMAT, "%s is empty", file->name);
        if (file->bytes > left)
            return sh_fail(SH_LIMIT, "%s makes it more than %llu bytes", file->name,
                           SH_CONTENTS_BYTES_MOST);
        left -= file->bytes;
    }

    const uint64_t bytes = sh_dataset_bytes(info);
    for (int split = 0; split < SH_SPLITS; split++) {
        const uint32_t count = info->count[split];
        SH_TRY(check_place(contents, &contents->sample[split], count, bytes, "samples"));
        if (contents->target_bytes > 0)
            SH_TRY(check_place(contents, &contents->target[split], count, contents->target_bytes,
                               "targets"));
    }
    return SH_OK;
}
