/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as an .npz archive: opens its member x.npy and reads the last number. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "data/array/array_file.h"
#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.npz"};
    sh_array array;
    double number;
    folder_make(names, 1);
    folder_put(0, data, size, 0);
    if (sh_array_open(&array, folder_names[0], "x") != SH_OK) {
        if (sh_message()[0] == '\0')
            abort(); /* a failure without a message */
        return 0;
    }
    if (array.header.count > 0 &&
        sh_array_read(&array, array.header.count - 1, &number, 1) != SH_OK)
        abort();
    sh_array_close(&array);
    return 0;
}
