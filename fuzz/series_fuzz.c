/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as two CSV files of a series; the first byte says where the second one begins;
 * its lowest bit, whether the last column may have labels. Accepted series can be read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <math.h>

#include "data/series/series_rows.h"
#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const sh_series_rows *rows)
{
    double *numbers = malloc(rows->width * sizeof *numbers);
    if (numbers == NULL)
        abort();
    for (uint64_t row = 0; row < rows->rows; row++) {
        if (sh_series_rows_read(rows, row, numbers, 1) != SH_OK)
            abort();
        for (size_t i = 0; i < rows->width; i++)
            if (!isfinite(numbers[i]) && i < rows->count)
                abort();
        if (rows->width > rows->count && !(numbers[rows->count] < rows->class_count))
            abort();
    }
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.csv", "b.csv"};
    if (size == 0)
        return 0;
    folder_make(names, 2);
    const size_t split = data[0] < size - 1 ? data[0] : size - 1;
    folder_put(0, data + 1, split, 0);
    folder_put(1, data + 1 + split, size - 1 - split, 0);
    sh_series_rows rows;
    uint64_t first, count;
    const sh_series_form form = {.target = "", .finds_target = (data[0] & 1) != 0};
    sh_series_rows_init(&rows, &form);
    sh_status status = SH_OK;
    for (int i = 0; i < 2 && status == SH_OK; i++)
        status = sh_series_rows_add(&rows, &first, &count, folder_names[i], names[i]);
    if (status == SH_OK && sh_series_rows_end(&rows) == SH_OK)
        check(&rows);
    else if (sh_message()[0] == '\0')
        abort(); /* a failure without a message */
    sh_series_rows_release(&rows);
    return 0;
}
