/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cifar10:DIR` and `cifar100:DIR`: the files of the binary version, under their published names.
 * CIFAR-10's training images come in five files, of which any will do: samples are numbered through
 * those that are there, in order, and the log says which are not.
 *
 * At the start every label is read, so that a wrong one is told before the training and not in its
 * middle. A sample is read from its file each time; the system's page cache is what makes that
 * fast, and it gives the memory back when a process needs it.
 *
 * The fingerprint covers the sizes, all labels and IMAGES_PRINTED images of each split, spread
 * evenly: enough to tell sets, subsets and orders apart. It is of the content, so the same records
 * in one file or in five are equal.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "data/cifar.h"
#include "data/dataset_impl.h"
#include "data/extent.h"

#define FILES_MOST 5      /* of a split */
#define IMAGES_PRINTED 64 /* of each split, for the fingerprint */
#define NAMES_BYTES 128

/* A data set and where it is: what differs between the two. */
typedef struct variant {
    const sh_cifar_kind *kind;
    const sh_dataset_ops *ops;
    /* Of the pixels of all 50,000 training images, as parts of 255, by channel; rounded as they
     * are in common use. cifar_set_test.c compares them with real files where it finds those. */
    float mean[3], deviation[3];
    const char *files[SH_SPLITS][FILES_MOST + 1]; /* NULL behind the last */
} variant;

static const variant cifar10 = {
    &sh_cifar10,
    &sh_cifar10_ops,
    {0.4914f, 0.4822f, 0.4465f},
    {0.2470f, 0.2435f, 0.2616f},
    {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
      "data_batch_5.bin"},
     {"test_batch.bin"}},
};

static const variant cifar100 = {
    &sh_cifar100,
    &sh_cifar100_ops,
    {0.5071f, 0.4865f, 0.4409f},
    {0.2673f, 0.2564f, 0.2762f},
    {{"train.bin"}, {"test.bin"}},
};

typedef struct cifar_set {
    sh_dataset base;
    const variant *variant;
    struct split {
        sh_cifar_file files[FILES_MOST]; /* the first `count` are open */
        uint32_t count;
    } splits[SH_SPLITS];
} cifar_set;

static sh_status file_path(char path[PATH_MAX], const char *folder, const char *name)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_MAX)
        return sh_fail(SH_INVALID, "%s: the path is too long", folder);
    return SH_OK;
}

static bool file_exists(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return file_path(path, folder, name) == SH_OK && access(path, F_OK) == 0;
}

/* Whether the folder has any file of a variant. */
static bool has_any(const variant *v, const char *folder)
{
    for (int split = 0; split < SH_SPLITS; split++)
        for (const char *const *name = v->files[split]; *name != NULL; name++)
            if (file_exists(folder, *name))
                return true;
    return false;
}

static bool cifar10_recognises(const char *folder)
{
    return has_any(&cifar10, folder);
}

static bool cifar100_recognises(const char *folder)
{
    return has_any(&cifar100, folder);
}

/* Writes the names of a split's files that the folder lacks. */
static void list_missing(char missing[NAMES_BYTES], const variant *v, sh_split split,
                         const char *folder)
{
    size_t used = 0;
    missing[0] = '\0';
    for (const char *const *name = v->files[split]; *name != NULL; name++)
        if (!file_exists(folder, *name))
            used += (size_t)snprintf(missing + used, NAMES_BYTES - used, "%s%s",
                                     used > 0 ? ", " : "", *name);
}

static sh_status fail_missing(const variant *v, sh_split split, const char *folder)
{
    char missing[NAMES_BYTES];
    const variant *other = v == &cifar10 ? &cifar100 : &cifar10;
    list_missing(missing, v, split, folder);
    if (!has_any(v, folder) && has_any(other, folder))
        return sh_fail(SH_NOT_FOUND, "%s: holds files of %s, none of %s; write %s:%s", folder,
                       other->kind->title, v->kind->title, other->kind->name, folder);
    return sh_fail(SH_NOT_FOUND,
                   "%s: no %s file of %s (binary version) is here; looked in vain for %s", folder,
                   sh_split_name(split), v->kind->title, missing);
}

static sh_status open_split(cifar_set *set, sh_split split, const char *folder)
{
    struct split *s = &set->splits[split];
    uint64_t samples = 0;
    for (const char *const *name = set->variant->files[split]; *name != NULL; name++) {
        char path[PATH_MAX];
        SH_TRY(file_path(path, folder, *name));
        if (access(path, F_OK) != 0)
            continue;
        SH_TRY(sh_cifar_open(&s->files[s->count], path, set->variant->kind));
        samples += s->files[s->count++].count;
    }
    if (s->count == 0)
        return fail_missing(set->variant, split, folder);
    if (samples > UINT32_MAX)
        return sh_fail(SH_LIMIT, "%s: the %s files hold more than %u records", folder,
                       sh_split_name(split), UINT32_MAX);
    set->base.info.count[split] = (uint32_t)samples;
    return SH_OK;
}

static void log_missing(const cifar_set *set, const char *folder)
{
    char missing[NAMES_BYTES];
    list_missing(missing, set->variant, SH_SPLIT_TRAIN, folder);
    if (missing[0] != '\0')
        sh_log(SH_LOG_INFO, "data.incomplete", "folder=\"%s\" samples=%u missing=\"%s\"", folder,
               set->base.info.count[SH_SPLIT_TRAIN], missing);
}

/* The file and the record in it of a sample that there is. */
static const sh_cifar_file *locate(const cifar_set *set, sh_split split, uint32_t *index)
{
    const sh_cifar_file *file = set->splits[split].files;
    for (; *index >= file->count; file++)
        *index -= file->count;
    return file;
}

static void print_label(void *context, uint8_t label)
{
    sh_digest_add(context, &label, 1);
}

/* Checks all labels on the way. */
static sh_status print_split(sh_digest *digest, const cifar_set *set, sh_split split)
{
    const struct split *s = &set->splits[split];
    const uint32_t count = set->base.info.count[split];
    char text[64];
    const int length = snprintf(text, sizeof text, "%s %u", set->variant->kind->name, count);
    sh_digest_add(digest, text, (size_t)length);
    for (uint32_t i = 0; i < s->count; i++)
        SH_TRY(sh_cifar_check(&s->files[i], print_label, digest));
    const uint32_t printed = count < IMAGES_PRINTED ? count : IMAGES_PRINTED;
    for (uint32_t i = 0; i < printed; i++) {
        uint8_t image[SH_CIFAR_PIXELS];
        int32_t label;
        uint32_t index = (uint32_t)((uint64_t)count * i / printed);
        const sh_cifar_file *file = locate(set, split, &index);
        SH_TRY(sh_cifar_read(file, index, image, &label));
        sh_digest_add(digest, image, sizeof image);
    }
    return SH_OK;
}

static sh_status check_and_print(cifar_set *set)
{
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    sh_status status = SH_OK;
    for (int split = 0; split < SH_SPLITS && status == SH_OK; split++)
        status = print_split(digest, set, (sh_split)split);
    const sh_status end = sh_digest_finish(digest, set->base.info.fingerprint);
    return status != SH_OK ? status : end;
}

static void cifar_close(sh_dataset *dataset)
{
    cifar_set *set = (cifar_set *)dataset;
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < set->splits[split].count; i++)
            sh_cifar_close(&set->splits[split].files[i]);
    free(set);
}

static sh_status open_folder(cifar_set *set, const char *folder)
{
    for (int split = 0; split < SH_SPLITS; split++)
        SH_TRY(open_split(set, (sh_split)split, folder));
    SH_TRY(check_and_print(set));
    log_missing(set, folder);
    return SH_OK;
}

static sh_status cifar_open(sh_dataset **dataset, const variant *v, const char *argument)
{
    const char *name = v->kind->name;
    if (argument == NULL || argument[0] == '\0')
        return sh_fail(SH_INVALID, "%s: which folder? write %s:DIR", name, name);
    SH_TRY(sh_folder_check(argument));
    cifar_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return sh_fail_memory(sizeof *set, "the data set");
    set->variant = v;
    set->base.ops = v->ops;
    set->base.info = (sh_dataset_info){
        .name = name,
        .channels = 3,
        .height = SH_CIFAR_SIDE,
        .width = SH_CIFAR_SIDE,
        .classes = v->kind->classes[v->kind->labels - 1],
    };
    memcpy(set->base.info.mean, v->mean, sizeof v->mean);
    memcpy(set->base.info.deviation, v->deviation, sizeof v->deviation);
    const sh_status status = open_folder(set, argument);
    if (status != SH_OK) {
        cifar_close(&set->base);
        return status;
    }
    *dataset = &set->base;
    return SH_OK;
}

/* Each split is one file, in however many it is kept. */
static void cifar_contents(const sh_dataset *dataset, sh_contents *contents)
{
    const cifar_set *set = (const cifar_set *)dataset;
    const sh_cifar_kind *kind = set->variant->kind;
    const uint64_t record = sh_cifar_record_bytes(kind);
    contents->files = SH_SPLITS;
    for (uint32_t split = 0; split < SH_SPLITS; split++) {
        snprintf(contents->file[split].name, SH_CONTENTS_NAME, "%s.bin",
                 sh_split_name((sh_split)split));
        contents->file[split].bytes = set->base.info.count[split] * record;
        contents->image[split] = (sh_contents_place){split, kind->labels, record};
        contents->label[split] = (sh_contents_place){split, kind->labels - 1, record};
    }
}

static sh_status cifar_fetch(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                             uint8_t *bytes, size_t count)
{
    const cifar_set *set = (const cifar_set *)dataset;
    const uint64_t record = sh_cifar_record_bytes(set->variant->kind);
    for (const sh_cifar_file *f = set->splits[file].files; count > 0; f++) {
        const uint64_t held = f->count * record;
        if (offset < held) {
            const size_t part = count < held - offset ? count : (size_t)(held - offset);
            SH_TRY(sh_fail_in(sh_extent_read_all(f->fd, offset, bytes, part), "%s", f->name));
            bytes += part;
            count -= part;
            offset += part;
        }
        offset -= held;
    }
    return SH_OK;
}

static sh_status cifar10_open(sh_dataset **dataset, const char *argument)
{
    return cifar_open(dataset, &cifar10, argument);
}

static sh_status cifar100_open(sh_dataset **dataset, const char *argument)
{
    return cifar_open(dataset, &cifar100, argument);
}

static sh_status cifar_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                            uint8_t *bytes, int32_t *label)
{
    const sh_cifar_file *file = locate((const cifar_set *)dataset, split, &index);
    return sh_cifar_read(file, index, bytes, label);
}

static bool cifar_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    const sh_cifar_file *file = locate((const cifar_set *)dataset, split, &index);
    return sh_cifar_touch(file, index);
}

const sh_dataset_ops sh_cifar10_ops = {
    .name = "cifar10",
    .usage = "cifar10:DIR",
    .files = "data_batch_1.bin to data_batch_5.bin, test_batch.bin",
    .open = cifar10_open,
    .recognises = cifar10_recognises,
    .read = cifar_read,
    .touch = cifar_touch,
    .contents = cifar_contents,
    .fetch = cifar_fetch,
    .close = cifar_close,
};

const sh_dataset_ops sh_cifar100_ops = {
    .name = "cifar100",
    .usage = "cifar100:DIR",
    .files = "train.bin, test.bin",
    .open = cifar100_open,
    .recognises = cifar100_recognises,
    .read = cifar_read,
    .touch = cifar_touch,
    .contents = cifar_contents,
    .fetch = cifar_fetch,
    .close = cifar_close,
};
