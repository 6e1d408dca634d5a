/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the reader of IDX files: as training images and labels with a valid
 * validation split, and vice versa. The first byte says where the images end.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/* One image of 3 x 4, as in the seeds, and its label. */
static const uint8_t image[] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0,
                                0, 4, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2};
static const uint8_t label[] = {0, 0, 8, 1, 0, 0, 0, 1, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    folder_make(names, 4);
    const size_t split = data[0] < size - 1 ? data[0] : size - 1;
    for (size_t fuzzed = 0; fuzzed < 4; fuzzed += 2) {
        folder_put(fuzzed, data + 1, split, 0);
        folder_put(fuzzed + 1, data + 1 + split, size - 1 - split, 0);
        folder_put(2 - fuzzed, image, sizeof image, 0);
        folder_put(3 - fuzzed, label, sizeof label, 0);
        folder_read("mnist");
    }
    return 0;
}
