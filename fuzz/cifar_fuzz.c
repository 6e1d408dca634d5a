/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the reader of CIFAR files. The first byte says which kind the file is
 * taken for; the next, how many zeros follow it, so that whole records are within reach.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/cifar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PADDING 16 /* bytes for each unit of the second byte: up to more than a record */

static int file_of(const uint8_t *bytes, size_t count, size_t zeros)
{
    const int fd = memfd_create("cifar", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count ||
        ftruncate(fd, (off_t)(count + zeros)) != 0)
        abort();
    return fd;
}

static void check_label(void *context, uint8_t label)
{
    const sh_cifar_file *file = context;
    if (label >= file->kind->classes[file->kind->labels - 1])
        abort();
}

/* What was checked can be read. */
static void read_ends(const sh_cifar_file *file)
{
    const uint32_t ends[] = {0, file->count - 1};
    for (int i = 0; i < 2; i++) {
        uint8_t bytes[SH_CIFAR_PIXELS];
        int32_t label = -1;
        if (!sh_cifar_touch(file, ends[i]) ||
            sh_cifar_read(file, ends[i], bytes, &label) != SH_OK || label < 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const sh_cifar_kind *kind = data[0] % 2 == 0 ? &sh_cifar10 : &sh_cifar100;
    const int fd = file_of(data + 2, size - 2, (size_t)data[1] * PADDING);
    sh_cifar_file file;
    if (sh_cifar_adopt(&file, fd, "file", kind) != SH_OK)
        return 0;
    if (sh_cifar_check(&file, check_label, &file) == SH_OK)
        read_ends(&file);
    sh_cifar_close(&file);
    return 0;
}
