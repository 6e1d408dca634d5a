/* SPDX-License-Identifier: Apache-2.0 */
/* Filling only names files of one sample each, which reading decodes concurrently. It decodes all
 * other samples into the slots. */
#include "data/file_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/dataset_impl.h"
#include "data/file_reader.h"
#include "data/folder_walk.h"

struct sh_file_samples {
    const sh_trained *trained;
    sh_file_reader *reader; /* owned; NULL: no single files */
    char *about;            /* description; owned */
    sh_file_sample *slots;  /* owned */
    uint32_t slot_count, filled;
    uint8_t *samples; /* owned; NULL if each sample is a file */
    size_t sample_bytes;

    const char *const *paths; /* not started */
    size_t path_count;
    const char *folder;                /* current path, or NULL */
    sh_folder_walk *walk;              /* in `folder`; owned */
    size_t found;                      /* in `folder` so far */
    int stream;                        /* -1: none */
    const float *numbers;              /* in memory, or NULL */
    size_t number_count, numbers_told; /* samples in memory: left, done */
    char *open;                        /* being read, or NULL; owned */
};

typedef struct slot_dataset {
    sh_dataset base;
    sh_file_samples *files;
} slot_dataset;

/* --- slots --- */

static void clear(sh_file_sample *slot)
{
    free(slot->name);
    free(slot->target);
    free(slot->failure);
    *slot = (sh_file_sample){0};
}

static void note_failure(sh_file_sample *slot)
{
    slot->failed = true;
    slot->failure = strdup(sh_message());
}

static sh_status take_slot(sh_file_sample **slot, sh_file_samples *files, const char *path,
                           const sh_file_reader_place *place)
{
    sh_file_sample *fresh = &files->slots[files->filled];
    const char *where = place == NULL ? "" : place->where;
    const size_t bytes = strlen(path) + strlen(where) + 3;
    fresh->name = malloc(bytes);
    fresh->target = strdup(place == NULL ? "" : place->target);
    if (fresh->name == NULL || fresh->target == NULL) {
        clear(fresh);
        return sh_fail_memory(bytes, "the name of a sample");
    }
    const bool streams = files->stream >= 0 && where[0] != '\0';
    snprintf(fresh->name, bytes, "%s%s%s", streams ? "" : path,
             !streams && where[0] != '\0' ? ", " : "", where);
    files->filled++;
    *slot = fresh;
    return SH_OK;
}

static sh_status take_failure(sh_file_samples *files, sh_status failure, const char *path)
{
    sh_file_sample *slot;
    if (failure == SH_NO_MEMORY)
        return failure;
    SH_TRY(take_slot(&slot, files, path, NULL));
    note_failure(slot);
    return SH_OK;
}

/* --- samples in memory --- */

static uint8_t pixel_of(float number)
{
    return !(number > 0) ? 0 : number >= 255 ? 255 : (uint8_t)lroundf(number);
}

static sh_status next_numbers(sh_file_samples *files)
{
    const sh_dataset_info *info = &files->trained->info;
    const size_t each = info->channels * info->height * info->width;
    uint8_t *sample = files->samples + files->filled * files->sample_bytes;
    char name[32];
    sh_file_sample *slot;
    if (info->element == SH_ELEMENT_BYTE)
        for (size_t i = 0; i < each; i++)
            sample[i] = pixel_of(files->numbers[i]);
    else
        memcpy(sample, files->numbers, files->sample_bytes);
    files->numbers += each;
    files->number_count--;
    snprintf(name, sizeof name, "sample %zu", ++files->numbers_told);
    return take_slot(&slot, files, name, NULL);
}

static sh_status make_room(sh_file_samples *files)
{
    size_t bytes;
    if (files->samples != NULL)
        return SH_OK;
    if (!sh_size_mul(files->slot_count, files->sample_bytes, &bytes))
        bytes = SIZE_MAX;
    files->samples = malloc(bytes);
    return files->samples != NULL ? SH_OK : sh_fail_memory(bytes, "samples of new files");
}

/* --- files --- */

static sh_status begin_file(sh_file_samples *files, const char *path)
{
    const sh_file_reader_ops *ops = files->reader->ops;
    sh_file_sample *slot;
    if (ops->load != NULL) {
        SH_TRY(take_slot(&slot, files, path, NULL));
        slot->loads = true;
        return SH_OK;
    }
    char *copy = strdup(path);
    if (copy == NULL)
        return sh_fail_memory(strlen(path) + 1, "the name of a file");
    sh_status status = ops->begin(files->reader, path, files->stream);
    if (status == SH_OK) {
        files->open = copy;
        return SH_OK;
    }
    status = take_failure(files, status, path);
    free(copy);
    return status;
}

static void end_file(sh_file_samples *files)
{
    if (files->open != NULL)
        files->reader->ops->end(files->reader);
    free(files->open);
    files->open = NULL;
    files->stream = -1;
}

static sh_status next_sample(sh_file_samples *files)
{
    sh_file_sample *slot;
    sh_file_reader_place place = {.where = ""};
    bool more = false;
    uint8_t *sample = files->samples + files->filled * files->sample_bytes;
    const sh_status status = files->reader->ops->next(files->reader, sample, &place, &more);
    sh_status taken = SH_OK;
    if (status != SH_OK)
        taken = take_failure(files, status, files->open);
    else if (more)
        taken = take_slot(&slot, files, files->open, &place);
    if (!more)
        end_file(files);
    return taken;
}

static void leave_folder(sh_file_samples *files)
{
    sh_folder_walk_close(files->walk);
    files->walk = NULL;
    files->folder = NULL;
}

static sh_status next_of_folder(sh_file_samples *files)
{
    const char *path;
    const sh_status status = sh_folder_walk_next(files->walk, &path);
    if (status != SH_OK)
        return take_failure(files, status, files->folder);
    if (path == NULL) {
        const char *folder = files->folder;
        leave_folder(files);
        return files->found > 0 ? SH_OK
                                : take_failure(files,
                                               sh_fail(SH_NOT_FOUND, "%s: holds no %s", folder,
                                                       files->reader->ops->files),
                                               folder);
    }
    if (!files->reader->ops->is_named(path))
        return SH_OK;
    files->found++;
    return begin_file(files, path);
}

static sh_status next_path(sh_file_samples *files)
{
    struct stat about;
    const char *path = files->paths[0];
    files->paths++;
    files->path_count--;
    if (files->stream >= 0 || stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return begin_file(files, path);
    const sh_status status = sh_folder_walk_open(&files->walk, path);
    if (status != SH_OK)
        return take_failure(files, status, path);
    files->folder = path;
    files->found = 0;
    return SH_OK;
}

sh_status sh_file_samples_fill(sh_file_samples *files, uint32_t most, uint32_t *filled)
{
    for (uint32_t i = 0; i < files->filled; i++)
        clear(&files->slots[i]);
    files->filled = 0;
    if (most > files->slot_count)
        most = files->slot_count;
    while (files->filled < most) {
        if (files->open != NULL)
            SH_TRY(next_sample(files));
        else if (files->walk != NULL)
            SH_TRY(next_of_folder(files));
        else if (files->path_count > 0)
            SH_TRY(next_path(files));
        else if (files->number_count > 0)
            SH_TRY(next_numbers(files));
        else
            break;
    }
    *filled = files->filled;
    return SH_OK;
}

const sh_file_sample *sh_file_samples_slot(const sh_file_samples *files, uint32_t index)
{
    return &files->slots[index];
}

static void begin(sh_file_samples *files, const char *const *paths, size_t count)
{
    end_file(files);
    leave_folder(files);
    files->paths = paths;
    files->path_count = count;
    files->number_count = 0;
}

static sh_status check_reader(const sh_file_samples *files)
{
    if (files->reader != NULL)
        return SH_OK;
    return sh_fail(
        SH_UNSUPPORTED,
        "the run was trained with %.40s, which is not made of single files; `shoal eval RUN "
        "DATA` measures it on other data",
        files->trained->info.name);
}

sh_status sh_file_samples_begin(sh_file_samples *files, const char *const *paths, size_t count)
{
    SH_TRY(check_reader(files));
    begin(files, paths, count);
    return SH_OK;
}

sh_status sh_file_samples_begin_numbers(sh_file_samples *files, const float *numbers, size_t count)
{
    const sh_dataset_info *info = &files->trained->info;
    const size_t each = info->channels * info->height * info->width;
    SH_TRY(make_room(files));
    for (size_t i = 0; i < count * each; i++)
        if (!isfinite(numbers[i]))
            return sh_fail(SH_INVALID, "sample %zu, number %zu: is not finite", i / each + 1,
                           i % each + 1);
    begin(files, NULL, 0);
    files->numbers = numbers;
    files->number_count = count;
    files->numbers_told = 0;
    return SH_OK;
}

sh_status sh_file_samples_begin_stream(sh_file_samples *files, int fd)
{
    static const char *const name[] = {"standard input"};
    SH_TRY(check_reader(files));
    if (!files->reader->ops->streams)
        return sh_fail(SH_UNSUPPORTED,
                       "the run was trained with %s, which cannot be read from a stream; name "
                       "the files",
                       files->reader->ops->files);
    begin(files, name, 1);
    files->stream = fd;
    return SH_OK;
}

/* --- the data set --- */

static sh_status slot_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                           void *target)
{
    sh_file_samples *files = ((const slot_dataset *)(const void *)dataset)->files;
    const sh_dataset_info *info = &dataset->info;
    sh_file_sample *slot = &files->slots[index];
    (void)split;
    memset(target, 0, sh_target_bytes(info->target, info->outputs));
    if (slot->loads && !slot->failed &&
        files->reader->ops->load(files->reader, slot->name, sample) != SH_OK)
        note_failure(slot);
    if (slot->failed)
        memset(sample, 0, files->sample_bytes);
    else if (!slot->loads)
        memcpy(sample, files->samples + index * files->sample_bytes, files->sample_bytes);
    return SH_OK;
}

sh_status sh_file_samples_dataset(sh_dataset **dataset, sh_file_samples *files)
{
    static const sh_dataset_ops ops = {.read = slot_read};
    slot_dataset *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the samples of new files");
    fresh->base.ops = &ops;
    fresh->base.info = files->trained->info;
    fresh->base.info.count[SH_SPLIT_TRAIN] = 1;
    fresh->base.info.count[SH_SPLIT_VALIDATION] = files->slot_count;
    fresh->base.about = files->about;
    fresh->files = files;
    *dataset = &fresh->base;
    return SH_OK;
}

/* --- creation --- */

const char *sh_file_samples_kind(const sh_file_samples *files)
{
    return files->reader == NULL ? "" : files->reader->ops->files;
}

static sh_status make_reader(sh_file_samples *files, const sh_read_options *options)
{
    const sh_trained *trained = files->trained;
    const sh_format *format = sh_format_find(trained->info.name);
    if (format == NULL || format->file_reader == NULL)
        return SH_OK;
    return format->file_reader(&files->reader, trained, options);
}

sh_status sh_file_samples_new(sh_file_samples **files, const sh_trained *trained,
                              const sh_read_options *options, uint32_t slots)
{
    sh_status status;
    sh_file_samples *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "new files");
    fresh->trained = trained;
    fresh->stream = -1;
    fresh->slot_count = slots;
    fresh->sample_bytes = sh_dataset_bytes(&trained->info);
    SH_TRY_DONE(make_reader(fresh, options));
    fresh->about = trained->about == NULL ? NULL : json_dumps(trained->about, JSON_COMPACT);
    fresh->slots = calloc(slots, sizeof *fresh->slots);
    if (fresh->slots == NULL || (trained->about != NULL && fresh->about == NULL))
        SH_TRY_DONE(sh_fail_memory(slots * sizeof *fresh->slots, "samples of new files"));
    if (fresh->reader != NULL && fresh->reader->ops->load == NULL)
        SH_TRY_DONE(make_room(fresh));
    *files = fresh;
    return SH_OK;
done:
    sh_file_samples_free(fresh);
    return status;
}

void sh_file_samples_free(sh_file_samples *files)
{
    if (files == NULL)
        return;
    if (files->reader != NULL) {
        end_file(files);
        files->reader->ops->free(files->reader);
    }
    sh_folder_walk_close(files->walk);
    for (uint32_t i = 0; files->slots != NULL && i < files->slot_count; i++)
        clear(&files->slots[i]);
    free(files->slots);
    free(files->samples);
    free(files->about);
    free(files);
}
