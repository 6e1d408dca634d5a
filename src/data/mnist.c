/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mnist:DIR`: the four IDX files of MNIST or a set like it, with images of any size.
 *
 * IDX (Y. LeCun, C. Cortes, C. Burges: "The MNIST database of handwritten digits", section "File
 * formats") is big-endian:
 *
 *     labels    0x00000801, count,                one byte each
 *     images    0x00000803, count, height, width, height * width bytes each
 */
#include <inttypes.h>
#include <stdio.h>

#include "data/extent.h"
#include "data/file_reader.h"
#include "data/stored.h"

/* Of MNIST's training images, as in PyTorch's MNIST example. */
#define MEAN 0.1307f
#define DEVIATION 0.3081f

#define MAGIC 0x00000800u /* unsigned bytes, plus the number of dimensions */
#define HEADER_MOST 16
#define SIDE_MOST 4096

/* The value is the number of dimensions. */
typedef enum idx_kind {
    LABELS = 1,
    IMAGES = 3,
} idx_kind;

typedef struct idx_header {
    uint32_t count;         /* at least 1 */
    uint32_t height, width; /* 1 for labels */
    uint32_t bytes;
} idx_header;

/* images, then labels, by split */
static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", NULL};

#define FILES (2 * SH_SPLITS)

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static const char *kind_name(idx_kind kind)
{
    return kind == IMAGES ? "images" : "labels";
}

/* `bytes` are the whole file or at least its first HEADER_MOST. Messages lack the file's name. */
static sh_status parse_header(idx_header *header, const uint8_t *bytes, size_t count,
                              uint64_t file_bytes, idx_kind kind)
{
    if (count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
        return sh_fail(SH_FORMAT, "is gzipped but its name lacks .gz; add .gz to its name");
    const uint32_t found = count < 4 ? 0 : big_endian(bytes), wanted = MAGIC + kind;
    const idx_kind other = kind == IMAGES ? LABELS : IMAGES;
    if (count >= 4 && found == MAGIC + other)
        return sh_fail(
            SH_FORMAT,
            "holds %s (it begins with 0x%08x) instead of %s (0x%08x); are the two files swapped?",
            kind_name(other), found, kind_name(kind), wanted);
    if (count >= 4 && found != wanted)
        return sh_fail(SH_FORMAT,
                       "is not an IDX file of %s: it begins with 0x%08x, expected 0x%08x; copy or "
                       "download it again",
                       kind_name(kind), found, wanted);
    if (count < 4 + 4 * kind)
        return sh_fail(
            SH_CORRUPT,
            "is cut off: %zu bytes, the header alone takes %u; copy or download it again", count,
            4 + 4 * kind);
    idx_header h = {
        .count = big_endian(bytes + 4), .height = 1, .width = 1, .bytes = 4 + 4 * (uint32_t)kind};
    if (kind == IMAGES) {
        h.height = big_endian(bytes + 8);
        h.width = big_endian(bytes + 12);
    }
    if (h.count == 0)
        return sh_fail(SH_FORMAT, "holds no %s; copy or download it again", kind_name(kind));
    if (h.height == 0 || h.width == 0 || h.height > SIDE_MOST || h.width > SIDE_MOST)
        return sh_fail(SH_FORMAT, "holds images of %u x %u pixels; 1 to %d each way can be read",
                       h.height, h.width, SIDE_MOST);
    /* at most 2^32 * 2^24 */
    const uint64_t expected = h.bytes + (uint64_t)h.count * h.height * h.width;
    char what[96];
    if (kind == IMAGES)
        snprintf(what, sizeof what, "%u images of %u x %u", h.count, h.height, h.width);
    else
        snprintf(what, sizeof what, "%u labels", h.count);
    if (file_bytes != expected)
        return sh_fail(SH_CORRUPT,
                       "is %s: %" PRIu64 " bytes, its header promises %" PRIu64
                       " (%s); copy or download it again",
                       file_bytes < expected ? "cut off" : "too long", file_bytes, expected, what);
    *header = h;
    return SH_OK;
}

static sh_status open_file(idx_header *header, sh_stored *set, uint32_t i, const char *folder)
{
    const idx_kind kind = i % 2 == 0 ? IMAGES : LABELS;
    const sh_stored_part *part;
    uint8_t bytes[HEADER_MOST];
    size_t got;
    SH_TRY(sh_stored_open(&part, set, sh_stored_file(set, names[i]), folder, names[i]));
    SH_TRY(sh_fail_in(sh_extent_read(&got, part->fd, 0, bytes, sizeof bytes), "%s", part->name));
    SH_TRY(sh_fail_in(parse_header(header, bytes, got, part->bytes, kind), "%s", part->name));
    *(kind == IMAGES ? &set->contents.sample[i / 2] : &set->contents.target[i / 2]) =
        (sh_contents_place){i, header->bytes, (uint64_t)header->height * header->width};
    return SH_OK;
}

/* Training labels determine the classes, at least 2. */
static sh_status check_label(sh_stored *set, sh_split split, uint32_t index, const uint8_t *label)
{
    uint32_t *classes = &set->base.info.outputs;
    if (split == SH_SPLIT_TRAIN && *label >= *classes)
        *classes = *label + 1u;
    if (*label < *classes)
        return SH_OK;
    const char *name = sh_stored_name(set, split, &index);
    return sh_fail(SH_FORMAT,
                   "the validation split: %s: label %u of sample %u is out of range 0 to %u", name,
                   *label, index, *classes - 1);
}

static sh_status mnist_fill(sh_stored *set, const char *folder)
{
    sh_dataset_info *info = &set->base.info;
    char missing[SH_STORED_NAMES];
    if (sh_stored_missing(missing, set->format, folder, names) > 0)
        return sh_fail(SH_NOT_FOUND,
                       "%s: not all files of MNIST are here; missing, plain "
                       "and .gz: %s",
                       folder, missing);
    idx_header headers[FILES];
    for (uint32_t i = 0; i < FILES; i++)
        SH_TRY(open_file(&headers[i], set, i, folder));
    const idx_header *train = &headers[0], *validation = &headers[2];
    if (train->height != validation->height || train->width != validation->width)
        return sh_fail(SH_MISMATCH,
                       "%s holds images of %u x %u pixels, but %s of %u x %u: they do not belong "
                       "together; copy or download both again",
                       set->parts[0].name, train->height, train->width, set->parts[2].name,
                       validation->height, validation->width);
    info->channels = 1;
    info->height = train->height;
    info->width = train->width;
    info->outputs = 2;
    info->mean[0] = MEAN;
    info->deviation[0] = DEVIATION;
    char stamps[SH_SPLITS][SH_STORED_STAMP];
    for (uint32_t split = 0; split < SH_SPLITS; split++) {
        const uint32_t images = headers[2 * split].count, labels = headers[2 * split + 1].count;
        if (images != labels)
            return sh_fail(
                SH_MISMATCH,
                "%s%s holds %u images, but %s %u labels: they do not belong together; "
                "copy or download both again",
                split == SH_SPLIT_TRAIN ? "" : "the validation split: ", set->parts[2 * split].name,
                images, set->parts[2 * split + 1].name, labels);
        info->count[split] = images;
        snprintf(stamps[split], sizeof *stamps, "idx %u %u %u", images, train->height,
                 train->width);
    }
    return sh_stored_seal(set, stamps, check_label);
}

static bool mnist_recognises(const sh_format *format, const char *folder)
{
    char missing[SH_STORED_NAMES];
    return sh_stored_missing(missing, format, folder, names) < FILES;
}

const sh_format sh_mnist_format = {
    .name = "mnist",
    .usage = "mnist:DIR",
    .summary = "the four files of MNIST, Fashion-MNIST or similar, plain or .gz",
    .files = "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
             "t10k-labels-idx1-ubyte, each plain or .gz",
    .gzip = true,
    .recognises = mnist_recognises,
    .open = sh_stored_dataset,
    .file_reader = sh_photo_reader,
    .fill = mnist_fill,
};
