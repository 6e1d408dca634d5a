/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the reader of IDX files: as a header alone, then as a pair of files of
 * images and labels. The first byte says where the images end.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const uint8_t *bytes, size_t count)
{
    const int fd = memfd_create("idx", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
        abort();
    return fd;
}

static void read_ends(const sh_idx *idx)
{
    uint8_t *bytes = malloc(sh_idx_item_bytes(idx));
    if (bytes == NULL || sh_idx_read(idx, 0, bytes) != SH_OK ||
        sh_idx_read(idx, idx->header.count - 1, bytes) != SH_OK)
        abort();
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    sh_idx_header header;
    const size_t seen = size - 1 < SH_IDX_HEADER_MOST ? size - 1 : SH_IDX_HEADER_MOST;
    (void)!sh_idx_parse(&header, data + 1, seen, size - 1, SH_IDX_IMAGES);
    (void)!sh_idx_parse(&header, data + 1, seen, size - 1, SH_IDX_LABELS);

    const size_t split = data[0] < size - 1 ? data[0] : size - 1;
    sh_idx images = {0}, labels = {0};
    if (sh_idx_adopt(&images, file_of(data + 1, split), "images", SH_IDX_IMAGES) == SH_OK)
        read_ends(&images);
    if (sh_idx_adopt(&labels, file_of(data + 1 + split, size - 1 - split), "labels",
                     SH_IDX_LABELS) == SH_OK)
        read_ends(&labels);
    uint32_t most;
    if (images.name != NULL && labels.name != NULL &&
        sh_idx_check_pair(&most, &images, &labels, 9) == SH_OK && most > 9)
        abort();
    sh_idx_close(&images);
    sh_idx_close(&labels);
    return 0;
}
