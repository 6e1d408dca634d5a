/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as an array of NumPy: an accepted one has all its numbers in the file. */
#include <stdlib.h>

#include "data/array/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_npy_header header;
    if (sh_npy_parse(&header, data, size, size) != SH_OK) {
        if (sh_message()[0] == '\0')
            abort(); /* a failure without a message */
        return 0;
    }
    if (header.data_at + header.count * header.item_bytes != size || header.count > size)
        abort();
    double *numbers = malloc((size_t)header.count * sizeof *numbers + 1);
    if (numbers == NULL)
        abort();
    sh_npy_numbers(numbers, &header, data + header.data_at, (size_t)header.count);
    free(numbers);
    return 0;
}
