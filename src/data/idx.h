/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDX files, the format of MNIST (Y. LeCun, C. Cortes, C. Burges: "The MNIST database of
 * handwritten digits", section "File formats"): big-endian
 *
 *     labels    0x00000801, count,                one byte each
 *     images    0x00000803, count, height, width, height * width bytes each
 *
 *     sh_idx images;
 *     SH_TRY(sh_idx_open(&images, "/data/mnist/train-images-idx3-ubyte", SH_IDX_IMAGES));
 *     SH_TRY(sh_idx_read(&images, 41, bytes));   // sh_idx_item_bytes(&images) of them
 *     sh_idx_close(&images);
 *
 * Items are read from the file when they are asked for; nothing is kept in memory or mapped.
 *
 * Threads: any may read an open file, several at once; the rest caller locks.
 */
#ifndef SHOAL_DATA_IDX_H
#define SHOAL_DATA_IDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_IDX_SIDE_MOST 4096             /* pixels of an image each way */
#define SH_IDX_UNPACKED_MOST (1ull << 34) /* bytes that a .gz may unpack to */
#define SH_IDX_HEADER_MOST 16             /* bytes of a header */

/* What a file holds; the value is the number of its dimensions. */
typedef enum sh_idx_kind {
    SH_IDX_LABELS = 1,
    SH_IDX_IMAGES = 3,
} sh_idx_kind;

typedef struct sh_idx_header {
    uint32_t count;         /* items, at least 1 */
    uint32_t height, width; /* of an image; 1 and 1 for labels */
    uint32_t bytes;         /* of the header itself */
} sh_idx_header;

typedef struct sh_idx {
    sh_idx_header header;
    int fd;
    char *name; /* for messages; owned */
} sh_idx;

/*
 * Parses the header in bytes[0 .. count - 1] of a file of `file_bytes` bytes, of which `count` is
 * all or at least SH_IDX_HEADER_MOST. Fails with SH_FORMAT (another format or kind, sizes out of
 * bounds), SH_CORRUPT (shorter or longer than the header says). Messages lack the file's name.
 */
sh_status sh_idx_parse(sh_idx_header *header, const uint8_t *bytes, size_t count,
                       uint64_t file_bytes, sh_idx_kind kind) SHOAL_CHECKED;

/*
 * Opens `path`, or where that does not exist `path`.gz, through unpack.h. `*idx` is the caller's:
 * sh_idx_close it. Fails as sh_idx_parse and sh_unpack_open do.
 */
sh_status sh_idx_open(sh_idx *idx, const char *path, sh_idx_kind kind) SHOAL_CHECKED;

/* As sh_idx_open for an open file, which is taken over (owned) also on failure. `name` is copied.
 */
sh_status sh_idx_adopt(sh_idx *idx, int fd, const char *name, sh_idx_kind kind) SHOAL_CHECKED;

/* Whether sh_idx_open would find a file for `path`. */
bool sh_idx_exists(const char *path);

/* Bytes of one item. */
static inline size_t sh_idx_item_bytes(const sh_idx *idx)
{
    return (size_t)idx->header.height * idx->header.width;
}

/* Reads item `index` < count. Fails with SH_IO, SH_CORRUPT (the file has become shorter). */
sh_status sh_idx_read(const sh_idx *idx, uint32_t index, uint8_t *bytes) SHOAL_CHECKED;

/* Reads `count` items from `first` on; first + count <= header.count. */
sh_status sh_idx_read_many(const sh_idx *idx, uint32_t first, uint32_t count,
                           uint8_t *bytes) SHOAL_CHECKED;

/* Brings item `index` < count into the system's page cache; whether that was possible. */
bool sh_idx_touch(const sh_idx *idx, uint32_t index);

/*
 * Checks that `labels` go with `images`: as many of each, and no label above `limit`. `*most` is
 * the largest label. Reads all labels. Fails with SH_MISMATCH (counts), SH_FORMAT (a label).
 */
sh_status sh_idx_check_pair(uint32_t *most, const sh_idx *images, const sh_idx *labels,
                            uint32_t limit) SHOAL_CHECKED;

/* Closes and frees; an sh_idx of zeros is fine. */
void sh_idx_close(sh_idx *idx);

#endif
