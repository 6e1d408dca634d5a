/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a row of an array to a sample. The row is [outer][figures][inner] in the file and
 * [figures][outer][inner] in the sample. All numbers of a *figure* share a mean and a deviation.
 *
 *     const sh_array_form form = {.outer = 1, .figures = 3, .inner = 1024,
 *                                 .mean = mean, .deviation = deviation};
 *     SH_TRY(sh_array_sample_floats(&form, &x, 41, sample));      // (number - mean) / deviation
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_ARRAY_ARRAY_SAMPLE_H
#define SHOAL_DATA_ARRAY_ARRAY_SAMPLE_H

#include "data/array/array_file.h"

typedef struct sh_array_form {
    size_t outer, figures, inner;
    const double *mean, *deviation; /* [figures]; NULL for bytes; borrowed */
} sh_array_form;

static inline size_t sh_array_form_elements(const sh_array_form *form)
{
    return form->outer * form->figures * form->inner;
}

/* Stores (number - mean) / deviation. SH_CORRUPT if a result is not finite as a float. */
sh_status sh_array_sample_floats(const sh_array_form *form, const sh_array *x, uint32_t row,
                                 float *sample) SHOAL_CHECKED;

/* As sh_array_sample_floats, for an array of single bytes, which it copies unchanged. */
sh_status sh_array_sample_bytes(const sh_array_form *form, const sh_array *x, uint32_t row,
                                uint8_t *sample) SHOAL_CHECKED;

#endif
