/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/array_sample.h"

#include <math.h>

#define BLOCK 1024 /* numbers per read */

/* Position in the sample of the file's numbers, in file order. */
typedef struct cursor {
    size_t o, f, i;
} cursor;

static size_t next_place(cursor *c, const sh_array_form *form)
{
    const size_t place = (c->f * form->outer + c->o) * form->inner + c->i;
    if (++c->i == form->inner) {
        c->i = 0;
        if (++c->f == form->figures) {
            c->f = 0;
            c->o++;
        }
    }
    return place;
}

sh_status sh_array_sample_floats(const sh_array_form *form, const sh_array *x, uint32_t row,
                                 float *sample)
{
    const size_t elements = sh_array_form_elements(form);
    double numbers[BLOCK];
    cursor c = {0};
    for (size_t done = 0; done < elements;) {
        const size_t left = elements - done, here = left < BLOCK ? left : BLOCK;
        SH_TRY(sh_array_read(x, row * (uint64_t)elements + done, numbers, here));
        for (size_t i = 0; i < here; i++) {
            const size_t f = c.f;
            const float value = (float)((numbers[i] - form->mean[f]) / form->deviation[f]);
            if (!isfinite(value))
                return sh_fail(SH_CORRUPT, "%s: number %zu of sample %u is %s", x->name, done + i,
                               row,
                               isnan(numbers[i])      ? "NaN"
                               : isfinite(numbers[i]) ? "too far from all others"
                                                      : "infinite");
            sample[next_place(&c, form)] = value;
        }
        done += here;
    }
    return SH_OK;
}

sh_status sh_array_sample_bytes(const sh_array_form *form, const sh_array *x, uint32_t row,
                                uint8_t *sample)
{
    const size_t elements = sh_array_form_elements(form);
    const uint64_t first = row * (uint64_t)elements;
    if (form->outer == 1)
        return sh_array_read_bytes(x, first, sample, elements);
    uint8_t bytes[BLOCK];
    cursor c = {0};
    for (size_t done = 0; done < elements;) {
        const size_t left = elements - done, here = left < BLOCK ? left : BLOCK;
        SH_TRY(sh_array_read_bytes(x, first + done, bytes, here));
        for (size_t i = 0; i < here; i++)
            sample[next_place(&c, form)] = bytes[i];
        done += here;
    }
    return SH_OK;
}
