/* SPDX-License-Identifier: Apache-2.0 */
#include "data/stored.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/extent.h"
#include "data/unpack.h"

#define UNPACKED_MOST (1ull << 34) /* of a .gz's content */
#define IMAGES_PRINTED 64          /* per split, in the fingerprint */
#define RECORD_MOST 4096           /* label and image read in one call */

/* Labels are read with the images between them: a call for each would cost more. */
#define CHUNK_BYTES 65536

/* --- reading --- */

/* `offset` must exist. */
static const sh_stored_part *part_at(const sh_stored *set, uint32_t file, uint64_t offset)
{
    const sh_stored_part *part = set->parts;
    while (part->file != file || offset < part->first || offset - part->first >= part->bytes)
        part++;
    return part;
}

static size_t left_in(const sh_stored_part *part, uint64_t offset, size_t count)
{
    const uint64_t left = part->first + part->bytes - offset;
    return count < left ? count : (size_t)left;
}

static sh_status stored_fetch(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                              uint8_t *bytes, size_t count)
{
    while (count > 0) {
        const sh_stored_part *part = part_at((const sh_stored *)dataset, file, offset);
        const size_t here = left_in(part, offset, count);
        SH_TRY(sh_fail_in(sh_extent_read_all(part->fd, offset - part->first, bytes, here), "%s",
                          part->name));
        bytes += here;
        offset += here;
        count -= here;
    }
    return SH_OK;
}

/* Whether labels directly precede their images, so that one call reads both. */
static bool is_joined(const sh_stored *set, sh_split split)
{
    const sh_contents_place *image = &set->contents.sample[split];
    const sh_contents_place *label = &set->contents.target[split];
    return set->contents.target_bytes == 1 && label->file == image->file &&
           label->first + 1 == image->first && label->stride == image->stride &&
           sh_dataset_bytes(&set->base.info) < RECORD_MOST;
}

static sh_status give_target(const sh_stored *set, sh_split split, uint32_t index, void *target,
                             const uint8_t *stored)
{
    if (set->contents.target_bytes == 0)
        return SH_OK;
    const sh_status status = sh_contents_target(target, &set->contents, &set->base.info, stored);
    if (status == SH_OK)
        return SH_OK;
    const char *name = sh_stored_name(set, split, &index);
    return sh_fail_in(status, "%s: changed while it was in use: sample %u", name, index);
}

static sh_status stored_read_target(const sh_dataset *dataset, sh_split split, uint32_t index,
                                    void *target)
{
    const sh_stored *set = (const sh_stored *)dataset;
    const sh_contents_place *mark = &set->contents.target[split];
    const uint32_t bytes = set->contents.target_bytes;
    uint8_t class, *stored = bytes == 1 ? &class : target;
    SH_TRY(stored_fetch(dataset, mark->file, sh_contents_offset(mark, index), stored, bytes));
    return give_target(set, split, index, target, stored);
}

static sh_status stored_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                             void *sample, void *target)
{
    const sh_stored *set = (const sh_stored *)dataset;
    const sh_contents *contents = &set->contents;
    const sh_contents_place *place = &contents->sample[split], *mark = &contents->target[split];
    const size_t count = sh_dataset_bytes(&dataset->info);
    if (!is_joined(set, split)) {
        SH_TRY(stored_fetch(dataset, place->file, sh_contents_offset(place, index), sample, count));
        return stored_read_target(dataset, split, index, target);
    }
    uint8_t record[RECORD_MOST];
    SH_TRY(stored_fetch(dataset, mark->file, sh_contents_offset(mark, index), record, count + 1));
    memcpy(sample, record + 1, count);
    return give_target(set, split, index, target, record);
}

/* Labels were read when opening. */
static bool stored_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    const sh_stored *set = (const sh_stored *)dataset;
    const sh_contents_place *image = &set->contents.sample[split];
    const size_t joined = is_joined(set, split);
    uint64_t offset = sh_contents_offset(image, index) - joined;
    for (size_t left = sh_dataset_bytes(&dataset->info) + joined; left > 0;) {
        const sh_stored_part *part = part_at(set, image->file, offset);
        const size_t here = left_in(part, offset, left);
        if (!sh_extent_touch(part->fd, offset - part->first, here))
            return false;
        offset += here;
        left -= here;
    }
    return true;
}

static void stored_close(sh_dataset *dataset)
{
    sh_stored *set = (sh_stored *)dataset;
    for (uint32_t i = 0; i < set->part_count; i++) {
        close(set->parts[i].fd);
        free(set->parts[i].name);
    }
    free((void *)(uintptr_t)set->base.about);
    free(set);
}

static const sh_dataset_ops stored_ops = {
    .read = stored_read,
    .read_target = stored_read_target,
    .touch = stored_touch,
    .fetch = stored_fetch,
    .close = stored_close,
};

/* --- making --- */

static sh_status join(char path[PATH_MAX], const char *folder, const char *name, const char *end)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s%s", folder, name, end);
    if (length < 0 || length >= PATH_MAX)
        return sh_fail(SH_INVALID, "%s: the path is too long", folder);
    return SH_OK;
}

bool sh_stored_has(const sh_format *format, const char *folder, const char *name)
{
    char path[PATH_MAX];
    return (join(path, folder, name, "") == SH_OK && access(path, F_OK) == 0) ||
           (format->gzip && join(path, folder, name, ".gz") == SH_OK && access(path, F_OK) == 0);
}

size_t sh_stored_missing(char missing[SH_STORED_NAMES], const sh_format *format, const char *folder,
                         const char *const *names)
{
    size_t used = 0, count = 0;
    missing[0] = '\0';
    for (; *names != NULL; names++) {
        if (sh_stored_has(format, folder, *names))
            continue;
        used += (size_t)snprintf(missing + used, SH_STORED_NAMES - used, "%s%s",
                                 count > 0 ? ", " : "", *names);
        assert(used < SH_STORED_NAMES);
        count++;
    }
    return count;
}

sh_status sh_stored_new(sh_stored **set, const sh_format *format)
{
    sh_stored *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the data set");
    fresh->base.ops = &stored_ops;
    fresh->base.info.name = format->name;
    fresh->base.contents = &fresh->contents;
    fresh->format = format;
    fresh->label_bytes = fresh->contents.target_bytes = 1;
    *set = fresh;
    return SH_OK;
}

sh_status sh_stored_dataset(sh_dataset **dataset, const sh_format *format, const char *folder,
                            const sh_read_options *options)
{
    (void)options;
    if (folder == NULL || folder[0] == '\0')
        return sh_fail(SH_INVALID, "%s: no folder; write %s", format->name, format->usage);
    SH_TRY(sh_folder_check(folder));
    sh_stored *set;
    SH_TRY(sh_stored_new(&set, format));
    const sh_status status = format->fill(set, folder);
    if (status != SH_OK) {
        stored_close(&set->base);
        return status;
    }
    *dataset = &set->base;
    return SH_OK;
}

uint32_t sh_stored_file(sh_stored *set, const char *name)
{
    assert(set->contents.files < SH_CONTENTS_FILES);
    snprintf(set->contents.file[set->contents.files].name, SH_CONTENTS_NAME, "%s", name);
    return set->contents.files++;
}

sh_status sh_stored_open(const sh_stored_part **part, sh_stored *set, uint32_t file,
                         const char *folder, const char *name)
{
    assert(set->part_count < SH_STORED_PARTS && file + 1 == set->contents.files);
    char path[PATH_MAX];
    SH_TRY(join(path, folder, name, ""));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && (errno != ENOENT || !set->format->gzip))
        return sh_fail_errno(errno, "%s: cannot open it", path);
    if (fd < 0) {
        SH_TRY(join(path, folder, name, ".gz"));
        SH_TRY(sh_unpack_open(&fd, path, UNPACKED_MOST));
    }
    return sh_stored_take(part, set, file, fd, path);
}

sh_status sh_stored_take(const sh_stored_part **part, sh_stored *set, uint32_t file, int fd,
                         const char *path)
{
    struct stat about;
    char *copy = NULL;
    sh_status status;
    if (fstat(fd, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot examine it", path));
    if (!S_ISREG(about.st_mode))
        SH_TRY_DONE(sh_fail(SH_FORMAT, "%s: is not a regular file", path));
    copy = strdup(path);
    if (copy == NULL)
        SH_TRY_DONE(sh_fail_memory(strlen(path) + 1, "the name of a data file"));
    sh_stored_part *fresh = &set->parts[set->part_count++];
    uint64_t *end = &set->contents.file[file].bytes;
    *fresh = (sh_stored_part){file, *end, (uint64_t)about.st_size, fd, copy};
    *end += fresh->bytes;
    *part = fresh;
    return SH_OK;
done:
    close(fd);
    return status;
}

const char *sh_stored_name(const sh_stored *set, sh_split split, uint32_t *index)
{
    const sh_contents_place *label = &set->contents.target[split];
    const sh_stored_part *part = part_at(set, label->file, sh_contents_offset(label, *index));
    if (part->first > label->first) /* earlier parts have samples */
        *index -= (uint32_t)((part->first - label->first + label->stride - 1) / label->stride);
    return part->name;
}

sh_status sh_stored_seal(sh_stored *set, char stamps[SH_SPLITS][SH_STORED_STAMP],
                         sh_stored_label_fn *check)
{
    sh_dataset_info *info = &set->base.info;
    SH_TRY(sh_fail_in(sh_contents_check(&set->contents, info), "%s", info->name));
    const size_t image_bytes = sh_dataset_bytes(info), before = set->label_bytes - 1;
    const size_t bytes = image_bytes > CHUNK_BYTES ? image_bytes : CHUNK_BYTES;
    uint8_t *buffer = malloc(bytes);
    if (buffer == NULL)
        return sh_fail_memory(bytes, "the labels of the data set");
    sh_digest *digest = NULL;
    sh_status status, end = SH_OK;
    SH_TRY_DONE(sh_digest_new(&digest));
    for (sh_split split = SH_SPLIT_TRAIN; split < SH_SPLITS; split++) {
        sh_digest_add(digest, stamps[split], strlen(stamps[split]));
        const uint32_t count = info->count[split];
        const sh_contents_place *label = &set->contents.target[split];
        const uint32_t chunk = 1 + (uint32_t)((CHUNK_BYTES - set->label_bytes) / label->stride);
        for (uint32_t first = 0, here = 0; first < count; first += here) {
            here = count - first < chunk ? count - first : chunk;
            const uint64_t wanted = (here - 1) * label->stride + set->label_bytes;
            SH_TRY_DONE(stored_fetch(&set->base, label->file,
                                     sh_contents_offset(label, first) - before, buffer,
                                     (size_t)wanted)); /* at most CHUNK_BYTES */
            for (uint32_t i = 0; i < here; i++) {
                const uint8_t *at = buffer + i * label->stride;
                SH_TRY_DONE(check(set, split, first + i, at));
                buffer[i] = at[before]; /* never overwrites unchecked labels */
            }
            sh_digest_add(digest, buffer, here);
        }
        const sh_contents_place *image = &set->contents.sample[split];
        const uint32_t printed = count < IMAGES_PRINTED ? count : IMAGES_PRINTED;
        for (uint32_t i = 0; i < printed; i++) {
            const uint32_t index = (uint32_t)((uint64_t)count * i / printed);
            SH_TRY_DONE(stored_fetch(&set->base, image->file, sh_contents_offset(image, index),
                                     buffer, image_bytes));
            sh_digest_add(digest, buffer, image_bytes);
        }
    }
done:
    if (digest != NULL)
        end = sh_digest_finish(digest, info->fingerprint);
    free(buffer);
    return status != SH_OK ? status : end;
}
