/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mnist:DIR`: the four IDX files of MNIST and of the sets that took over its format and names
 * (Fashion-MNIST, KMNIST, EMNIST after renaming), with images of any size.
 *
 * A sample is read from the file each time; the system's page cache is what makes that fast, and
 * it gives the memory back when a process needs it.
 *
 * The fingerprint covers the sizes, all labels and IMAGES_PRINTED images of each split, spread
 * evenly: enough to tell sets, subsets and orders apart, without reading 50 MB at every start. It
 * is of the content, so plain and packed files are equal.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset_impl.h"
#include "data/extent.h"
#include "data/idx.h"

/* Normalisation as in PyTorch's MNIST example: the mean and deviation of MNIST's training images.
 */
#define MEAN 0.1307f
#define DEVIATION 0.3081f

#define IMAGES_PRINTED 64   /* of each split, for the fingerprint */
#define LABELS_PRINTED 4096 /* in one go */
#define NAMES_BYTES 128

typedef struct mnist {
    sh_dataset base;
    sh_idx images[SH_SPLITS], labels[SH_SPLITS];
} mnist;

static const struct file_name {
    const char *name;
    sh_split split;
    sh_idx_kind kind;
} files[] = {
    {"train-images-idx3-ubyte", SH_SPLIT_TRAIN, SH_IDX_IMAGES},
    {"train-labels-idx1-ubyte", SH_SPLIT_TRAIN, SH_IDX_LABELS},
    {"t10k-images-idx3-ubyte", SH_SPLIT_VALIDATION, SH_IDX_IMAGES},
    {"t10k-labels-idx1-ubyte", SH_SPLIT_VALIDATION, SH_IDX_LABELS},
};

#define FILES (sizeof files / sizeof *files)

static sh_status file_path(char path[PATH_MAX], const char *folder, size_t file)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, files[file].name);
    if (length < 0 || length >= PATH_MAX)
        return sh_fail(SH_INVALID, "%s: the path is too long", folder);
    return SH_OK;
}

/* Writes the names of the files that `folder` lacks; how many. */
static size_t list_missing(char missing[NAMES_BYTES], const char *folder)
{
    size_t used = 0, count = 0;
    missing[0] = '\0';
    for (size_t i = 0; i < FILES; i++) {
        char path[PATH_MAX];
        if (file_path(path, folder, i) == SH_OK && sh_idx_exists(path))
            continue;
        used += (size_t)snprintf(missing + used, NAMES_BYTES - used, "%s%s", count > 0 ? ", " : "",
                                 files[i].name);
        count++;
    }
    return count;
}

static bool mnist_recognises(const char *folder)
{
    char missing[NAMES_BYTES];
    return list_missing(missing, folder) < FILES;
}

static sh_status open_files(mnist *set, const char *folder)
{
    char missing[NAMES_BYTES];
    if (list_missing(missing, folder) > 0)
        return sh_fail(SH_NOT_FOUND,
                       "%s: not all files of MNIST are here; looked, plain and .gz, "
                       "in vain for %s",
                       folder, missing);
    for (size_t i = 0; i < FILES; i++) {
        char path[PATH_MAX];
        SH_TRY(file_path(path, folder, i));
        sh_idx *place = files[i].kind == SH_IDX_IMAGES ? &set->images[files[i].split]
                                                       : &set->labels[files[i].split];
        SH_TRY(sh_idx_open(place, path, files[i].kind));
    }
    return SH_OK;
}

/* Checks that the four files are one set, and how many classes it has. */
static sh_status check_files(const mnist *set, uint32_t *classes)
{
    const sh_idx *train = &set->images[SH_SPLIT_TRAIN];
    const sh_idx *validation = &set->images[SH_SPLIT_VALIDATION];
    if (train->header.height != validation->header.height ||
        train->header.width != validation->header.width)
        return sh_fail(SH_MISMATCH,
                       "%s holds images of %u x %u pixels, but %s of %u x %u: they do not belong "
                       "together; copy or download both again",
                       train->name, train->header.height, train->header.width, validation->name,
                       validation->header.height, validation->header.width);
    uint32_t most, ignored;
    SH_TRY(sh_idx_check_pair(&most, train, &set->labels[SH_SPLIT_TRAIN], UINT8_MAX));
    most = most > 1 ? most : 1;
    SH_TRY(
        sh_fail_in(sh_idx_check_pair(&ignored, validation, &set->labels[SH_SPLIT_VALIDATION], most),
                   "the validation split"));
    *classes = most + 1;
    return SH_OK;
}

static sh_status print_split(sh_digest *digest, const sh_idx *images, const sh_idx *labels,
                             uint8_t *image)
{
    const uint32_t count = labels->header.count;
    char text[96];
    const int length = snprintf(text, sizeof text, "idx %u %u %u", count, images->header.height,
                                images->header.width);
    sh_digest_add(digest, text, (size_t)length);
    for (uint32_t first = 0, chunk = 0; first < count; first += chunk) {
        uint8_t bytes[LABELS_PRINTED];
        chunk = count - first < LABELS_PRINTED ? count - first : LABELS_PRINTED;
        SH_TRY(sh_idx_read_many(labels, first, chunk, bytes));
        sh_digest_add(digest, bytes, chunk);
    }
    const uint32_t printed = count < IMAGES_PRINTED ? count : IMAGES_PRINTED;
    for (uint32_t i = 0; i < printed; i++) {
        SH_TRY(sh_idx_read(images, (uint32_t)((uint64_t)count * i / printed), image));
        sh_digest_add(digest, image, sh_idx_item_bytes(images));
    }
    return SH_OK;
}

static sh_status fingerprint(const mnist *set, char hex[SH_DIGEST_TEXT])
{
    const size_t bytes = sh_idx_item_bytes(&set->images[0]);
    uint8_t *image = malloc(bytes);
    if (image == NULL)
        return sh_fail_memory(bytes, "one image");
    sh_digest *digest;
    sh_status status = sh_digest_new(&digest);
    if (status == SH_OK) {
        for (int split = 0; split < SH_SPLITS && status == SH_OK; split++)
            status = print_split(digest, &set->images[split], &set->labels[split], image);
        char finished[SH_DIGEST_TEXT];
        const sh_status end = sh_digest_finish(digest, finished);
        if (status == SH_OK && end == SH_OK)
            memcpy(hex, finished, sizeof finished);
        status = status == SH_OK ? end : status;
    }
    free(image);
    return status;
}

static void mnist_close(sh_dataset *dataset)
{
    mnist *set = (mnist *)dataset;
    for (int split = 0; split < SH_SPLITS; split++) {
        sh_idx_close(&set->images[split]);
        sh_idx_close(&set->labels[split]);
    }
    free(set);
}

static sh_status mnist_open(sh_dataset **dataset, const char *argument)
{
    if (argument == NULL || argument[0] == '\0')
        return sh_fail(SH_INVALID, "mnist: which folder? write mnist:DIR");
    SH_TRY(sh_folder_check(argument));
    mnist *set = calloc(1, sizeof *set);
    if (set == NULL)
        return sh_fail_memory(sizeof *set, "the data set");
    sh_dataset_info *info = &set->base.info;
    sh_status status = open_files(set, argument);
    if (status == SH_OK)
        status = check_files(set, &info->classes);
    if (status == SH_OK)
        status = fingerprint(set, info->fingerprint);
    if (status != SH_OK) {
        mnist_close(&set->base);
        return status;
    }
    set->base.ops = &sh_mnist_ops;
    info->name = "mnist";
    info->channels = 1;
    info->height = set->images[0].header.height;
    info->width = set->images[0].header.width;
    for (int split = 0; split < SH_SPLITS; split++)
        info->count[split] = set->images[split].header.count;
    info->mean[0] = MEAN;
    info->deviation[0] = DEVIATION;
    *dataset = &set->base;
    return SH_OK;
}

static sh_status mnist_read(const sh_dataset *dataset, sh_split split, uint32_t index,
                            uint8_t *bytes, int32_t *label)
{
    const mnist *set = (const mnist *)dataset;
    uint8_t class;
    SH_TRY(sh_idx_read(&set->images[split], index, bytes));
    SH_TRY(sh_idx_read(&set->labels[split], index, &class));
    if (class >= set->base.info.classes)
        return sh_fail(SH_CORRUPT, "%s: changed while it was in use: sample %u has label %u",
                       set->labels[split].name, index, class);
    *label = class;
    return SH_OK;
}

static bool mnist_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    const mnist *set = (const mnist *)dataset;
    return sh_idx_touch(&set->images[split], index); /* labels were all read at the start */
}

static const sh_idx *idx_of(const mnist *set, uint32_t file)
{
    const sh_split split = files[file].split;
    return files[file].kind == SH_IDX_IMAGES ? &set->images[split] : &set->labels[split];
}

static void mnist_contents(const sh_dataset *dataset, sh_contents *contents)
{
    const mnist *set = (const mnist *)dataset;
    contents->files = FILES;
    for (uint32_t i = 0; i < FILES; i++) {
        const sh_idx *idx = idx_of(set, i);
        const uint64_t item = sh_idx_item_bytes(idx), head = idx->header.bytes;
        snprintf(contents->file[i].name, SH_CONTENTS_NAME, "%s", files[i].name);
        contents->file[i].bytes = head + idx->header.count * item;
        *(files[i].kind == SH_IDX_IMAGES ? &contents->image[files[i].split]
                                         : &contents->label[files[i].split]) =
            (sh_contents_place){i, head, item};
    }
}

static sh_status mnist_fetch(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                             uint8_t *bytes, size_t count)
{
    const sh_idx *idx = idx_of((const mnist *)dataset, file);
    return sh_fail_in(sh_extent_read_all(idx->fd, offset, bytes, count), "%s", idx->name);
}

const sh_dataset_ops sh_mnist_ops = {
    .name = "mnist",
    .usage = "mnist:DIR",
    .files = "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
             "t10k-labels-idx1-ubyte, each plain or .gz",
    .open = mnist_open,
    .recognises = mnist_recognises,
    .read = mnist_read,
    .touch = mnist_touch,
    .contents = mnist_contents,
    .fetch = mnist_fetch,
    .close = mnist_close,
};
