/* SPDX-License-Identifier: Apache-2.0 */
#include "data/contents.h"

#include <inttypes.h>
#include <string.h>

#include "data/dataset_impl.h"

/* Of a file's name. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

sh_status sh_contents_of(const sh_contents **contents, const sh_dataset *dataset)
{
    if (dataset->contents == NULL)
        return sh_fail(SH_UNSUPPORTED, "%s is on no disk: every device makes it by itself",
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
        return sh_fail(SH_INVALID, "%s: byte %" PRIu64 " and %zu more do not lie in its %" PRIu64,
                       f->name, offset, count, f->bytes);
    return dataset->ops->fetch(dataset, file, offset, bytes, count);
}

/* Whether `count` items of `bytes` each lie in their file, one behind the other. */
static sh_status check_place(const sh_contents *contents, const sh_contents_place *place,
                             uint32_t count, uint64_t bytes, const char *what)
{
    if (place->file >= contents->files)
        return sh_fail(SH_FORMAT, "its %s are in file %u of %u", what, place->file,
                       contents->files);
    const sh_contents_file *file = &contents->file[place->file];
    /* Without products, which could wrap. */
    if (place->stride < bytes || place->first > file->bytes || bytes > file->bytes - place->first ||
        (file->bytes - place->first - bytes) / place->stride < count - 1)
        return sh_fail(SH_FORMAT, "%s: its %" PRIu64 " bytes do not hold %u %s", file->name,
                       file->bytes, count, what);
    return SH_OK;
}

sh_status sh_contents_check(const sh_contents *contents, const sh_dataset_info *info)
{
    if (info->channels == 0 || info->channels > SH_DATASET_CHANNELS_MOST || info->height == 0 ||
        info->height > SH_CONTENTS_SIDE_MOST || info->width == 0 ||
        info->width > SH_CONTENTS_SIDE_MOST)
        return sh_fail(SH_FORMAT, "its images of %zu x %zu x %zu are outside of what can be read",
                       info->channels, info->height, info->width);
    if (info->classes < 2 || info->classes > SH_CONTENTS_CLASSES_MOST)
        return sh_fail(SH_FORMAT, "its %u classes are outside of 2 to %d", info->classes,
                       SH_CONTENTS_CLASSES_MOST);
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

    const uint64_t image = sh_dataset_bytes(info);
    for (int split = 0; split < SH_SPLITS; split++) {
        const uint32_t count = info->count[split];
        SH_TRY(check_place(contents, &contents->image[split], count, image, "images"));
        SH_TRY(check_place(contents, &contents->label[split], count, 1, "labels"));
    }
    return SH_OK;
}
