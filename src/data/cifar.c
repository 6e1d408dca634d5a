/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cifar10:DIR` and `cifar100:DIR`: CIFAR-10 and CIFAR-100, binary version (A. Krizhevsky:
 * "Learning multiple layers of features from tiny images", 2009; format from
 * cs.toronto.edu/~kriz/cifar.html). A file has any number of whole records,
 *
 *     CIFAR-10     label,                     3072 bytes
 *     CIFAR-100    coarse label, fine label,  3072 bytes
 *
 * with planes of 32 x 32 for red, green and blue, row by row. CIFAR-100's fine label is used.
 *
 * Any of CIFAR-10's five training files suffice; samples are numbered through them in order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "data/file_reader.h"
#include "data/stored.h"

#define SIDE 32
#define PIXELS (3 * SIDE * SIDE)
#define LABELS_MOST 2 /* bytes before the pixels */
#define FILES_MOST 5  /* per split */

typedef struct variant {
    const char *title;
    uint32_t labels; /* the last is used */
    uint32_t classes[LABELS_MOST];
    /* Per channel over all 50,000 training images, in 0..1, rounded as usual; cifar_test.c checks
     * them. */
    float mean[3], deviation[3];
    const char *files[SH_SPLITS][FILES_MOST + 1]; /* NULL-terminated */
    const sh_format *other;
} variant;

static const variant cifar10 = {
    "CIFAR-10",
    1,
    {10},
    {0.4914f, 0.4822f, 0.4465f},
    {0.2470f, 0.2435f, 0.2616f},
    {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
      "data_batch_5.bin"},
     {"test_batch.bin"}},
    &sh_cifar100_format,
};

static const variant cifar100 = {
    "CIFAR-100",
    2,
    {20, 100},
    {0.5071f, 0.4865f, 0.4409f},
    {0.2673f, 0.2564f, 0.2762f},
    {{"train.bin"}, {"test.bin"}},
    &sh_cifar10_format,
};

static uint64_t record_bytes(const variant *v)
{
    return v->labels + PIXELS;
}

static bool cifar_recognises(const sh_format *format, const char *folder)
{
    const variant *v = format->variant;
    for (int split = 0; split < SH_SPLITS; split++)
        for (const char *const *name = v->files[split]; *name != NULL; name++)
            if (sh_stored_has(format, folder, *name))
                return true;
    return false;
}

/* Messages lack the file's name. */
static sh_status check_size(const variant *v, uint64_t bytes)
{
    const uint64_t record = record_bytes(v), whole = bytes / record;
    const variant *other = v->other->variant;
    if (bytes == 0)
        return sh_fail(SH_FORMAT, "is empty; copy or download it again");
    if (bytes % record != 0 && bytes % record_bytes(other) == 0)
        return sh_fail(SH_FORMAT,
                       "its %" PRIu64 " bytes are not a multiple of %s's records of %" PRIu64
                       ", but of %s's of %" PRIu64 ": write %s:DIR",
                       bytes, v->title, record, other->title, record_bytes(other), v->other->name);
    if (bytes % record != 0)
        return sh_fail(SH_CORRUPT,
                       "is cut off or damaged: its %" PRIu64 " bytes are %" PRIu64
                       " records of %" PRIu64 " and %" PRIu64
                       " bytes too many; copy or download it again",
                       bytes, whole, record, bytes % record);
    if (whole > UINT32_MAX)
        return sh_fail(SH_LIMIT, "holds %" PRIu64 " records; at most %u can be read", whole,
                       UINT32_MAX);
    return SH_OK;
}

/* A split's present files make one file of the contents. */
static sh_status open_split(sh_stored *set, sh_split split, const char *folder)
{
    const variant *v = set->format->variant;
    const char *const *files = v->files[split];
    char missing[SH_STORED_NAMES], name[SH_CONTENTS_NAME];
    (void)sh_stored_missing(missing, set->format, folder, files);
    snprintf(name, sizeof name, "%s.bin", sh_split_name(split));
    const uint32_t file = sh_stored_file(set, name);
    for (; *files != NULL; files++) {
        const sh_stored_part *part;
        if (!sh_stored_has(set->format, folder, *files))
            continue;
        SH_TRY(sh_stored_open(&part, set, file, folder, *files));
        SH_TRY(sh_fail_in(check_size(v, part->bytes), "%s", part->name));
    }
    const uint64_t samples = set->contents.file[file].bytes / record_bytes(v);
    if (samples == 0 && !cifar_recognises(set->format, folder) &&
        cifar_recognises(v->other, folder))
        return sh_fail(SH_NOT_FOUND, "%s: holds files of %s, none of %s; write %s:%s", folder,
                       ((const variant *)v->other->variant)->title, v->title, v->other->name,
                       folder);
    if (samples == 0)
        return sh_fail(SH_NOT_FOUND,
                       "%s: no %s file of %s (binary version) is here; none of these exists: %s",
                       folder, sh_split_name(split), v->title, missing);
    if (samples > UINT32_MAX)
        return sh_fail(SH_LIMIT, "%s: the %s files hold more than %u records", folder,
                       sh_split_name(split), UINT32_MAX);
    set->base.info.count[split] = (uint32_t)samples;
    set->contents.sample[split] = (sh_contents_place){file, v->labels, record_bytes(v)};
    set->contents.target[split] = (sh_contents_place){file, v->labels - 1, record_bytes(v)};
    return SH_OK;
}

static sh_status check_labels(sh_stored *set, sh_split split, uint32_t index, const uint8_t *labels)
{
    const variant *v = set->format->variant;
    for (uint32_t i = 0; i < v->labels; i++) {
        if (labels[i] < v->classes[i])
            continue;
        const char *name = sh_stored_name(set, split, &index);
        return sh_fail(SH_FORMAT,
                       "%s: record %u has %s %u, out of range 0 to %u; is this a file of %s, "
                       "binary version? copy or download it again",
                       name, index,
                       v->labels == 1 ? "label"
                       : i == 0       ? "coarse label"
                                      : "fine label",
                       labels[i], v->classes[i] - 1, v->title);
    }
    return SH_OK;
}

static sh_status cifar_fill(sh_stored *set, const char *folder)
{
    const variant *v = set->format->variant;
    char stamps[SH_SPLITS][SH_STORED_STAMP], missing[SH_STORED_NAMES];
    sh_dataset_info *info = &set->base.info;
    info->channels = 3;
    info->height = info->width = SIDE;
    info->outputs = v->classes[v->labels - 1];
    memcpy(info->mean, v->mean, sizeof v->mean);
    memcpy(info->deviation, v->deviation, sizeof v->deviation);
    set->label_bytes = v->labels;
    for (int split = 0; split < SH_SPLITS; split++) {
        SH_TRY(open_split(set, (sh_split)split, folder));
        snprintf(stamps[split], sizeof *stamps, "%s %u", info->name, info->count[split]);
    }
    SH_TRY(sh_stored_seal(set, stamps, check_labels));
    if (sh_stored_missing(missing, set->format, folder, v->files[SH_SPLIT_TRAIN]) > 0)
        sh_log(SH_LOG_INFO, "data.incomplete", "folder=\"%s\" samples=%u missing=\"%s\"", folder,
               info->count[SH_SPLIT_TRAIN], missing);
    return SH_OK;
}

const sh_format sh_cifar10_format = {
    .name = "cifar10",
    .usage = "cifar10:DIR",
    .summary = "CIFAR-10, binary version; any of the five training files is enough",
    .files = "data_batch_1.bin to data_batch_5.bin, test_batch.bin",
    .variant = &cifar10,
    .recognises = cifar_recognises,
    .open = sh_stored_dataset,
    .file_reader = sh_photo_reader,
    .fill = cifar_fill,
};

const sh_format sh_cifar100_format = {
    .name = "cifar100",
    .usage = "cifar100:DIR",
    .summary = "CIFAR-100, binary version, with its fine labels",
    .files = "train.bin, test.bin",
    .variant = &cifar100,
    .recognises = cifar_recognises,
    .open = sh_stored_dataset,
    .file_reader = sh_photo_reader,
    .fill = cifar_fill,
};
