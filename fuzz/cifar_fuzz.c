/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the reader of CIFAR files. The first byte chooses the format; the second
 * is the number of zeros appended, in units, so that whole records can be reached.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PADDING 16 /* bytes for each unit of the second byte: up to more than a record */

static const char *const names[] = {"data_batch_2.bin", "test_batch.bin", "train.bin", "test.bin"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[1];
    if (size < 2)
        return 0;
    folder_make(names, 4);
    const size_t first = data[0] % 2 == 0 ? 0 : 2;
    folder_put(first, data + 2, size - 2, (size_t)data[1] * PADDING);
    folder_put(first + 1, nothing, 0, first == 0 ? 3073 : 3074); /* a record of zeros */
    folder_read(first == 0 ? "cifar10" : "cifar100");
    return 0;
}
