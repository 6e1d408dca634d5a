/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/layout.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

bool sh_layout_same(const sh_layout *a, const sh_layout *b)
{
    const sh_packing *p = a->packing, *q = b->packing;
    if (p == NULL || q == NULL)
        return p == q && a->channels_last == b->channels_last;
    return p->count == q->count &&
           memcmp(p->matrices, q->matrices, p->count * sizeof *p->matrices) == 0;
}

sh_layout sh_layout_plain(const sh_type *type)
{
    return (sh_layout){.bytes = sh_type_bytes(type)};
}

sh_layout sh_layout_channels_last(const sh_type *type)
{
    sh_layout layout = sh_layout_plain(type);
    const size_t images = type->shape.dim[0], channels = type->shape.dim[1];
    layout.channels_last = channels > 1 && sh_shape_count(&type->shape) > images * channels;
    return layout;
}

sh_layout sh_layout_packed(const sh_packing *packing)
{
    return (sh_layout){.packing = packing, .bytes = packing->floats * sizeof(float)};
}

static void pack(const sh_matrix *m, const float *plain, float *packed)
{
    packed += m->to;
    for (size_t first = 0; first < m->columns; first += m->width) {
        const size_t left = m->columns - first, columns = left < m->width ? left : m->width;
        const float *const of_panel = plain + m->from + first * m->column_step;
        for (size_t i = 0; i < m->count[0]; i++)
            for (size_t j = 0; j < m->count[1]; j++)
                for (size_t k = 0; k < m->count[2]; k++, packed += m->width) {
                    const float *const row = of_panel + (ptrdiff_t)i * m->step[0] +
                                             (ptrdiff_t)j * m->step[1] + (ptrdiff_t)k * m->step[2];
                    for (size_t c = 0; c < columns; c++)
                        packed[c] = row[c * m->column_step];
                    memset(packed + columns, 0, (m->width - columns) * sizeof *packed);
                }
    }
}

void sh_matrix_unpack(const sh_matrix *m, const float *packed, float *plain)
{
    plain += m->from;
    for (size_t i = 0; i < m->count[0]; i++)
        for (size_t j = 0; j < m->count[1]; j++)
            for (size_t k = 0; k < m->count[2]; k++, packed += m->width) {
                float *const row = plain + (ptrdiff_t)i * m->step[0] + (ptrdiff_t)j * m->step[1] +
                                   (ptrdiff_t)k * m->step[2];
                for (size_t c = 0; c < m->columns; c++)
                    row[c * m->column_step] = packed[c];
            }
}

/* to [columns, rows] = from [rows, columns]; in blocks, so that both stay in the cache. */
static void transpose(size_t rows, size_t columns, const float *restrict from, float *restrict to)
{
    enum { BLOCK = 16 };
    for (size_t i = 0; i < rows; i += BLOCK)
        for (size_t j = 0; j < columns; j += BLOCK)
            for (size_t r = i; r < rows && r < i + BLOCK; r++)
                for (size_t c = j; c < columns && c < j + BLOCK; c++)
                    to[c * rows + r] = from[r * columns + c];
}

static void transpose_bytes(size_t rows, size_t columns, const uint8_t *restrict from,
                            uint8_t *restrict to)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

void sh_layout_convert(const sh_type *type, const sh_layout *from, const void *source,
                       const sh_layout *to, void *target)
{
    if (to->packing != NULL) {
        for (size_t i = 0; i < to->packing->count; i++)
            pack(&to->packing->matrices[i], source, target);
        return;
    }
    const size_t images = type->shape.dim[0], channels = type->shape.dim[1];
    const size_t image = sh_shape_count(&type->shape) / images, positions = image / channels;
    const size_t rows = to->channels_last ? channels : positions, columns = image / rows;
    assert(from->packing == NULL && from->channels_last != to->channels_last);
    (void)from;
    for (size_t n = 0; n < images; n++)
        if (sh_dtype_bytes(type->dtype) == 1)
            transpose_bytes(rows, columns, (const uint8_t *)source + n * image,
                            (uint8_t *)target + n * image);
        else
            transpose(rows, columns, (const float *)source + n * image,
                      (float *)target + n * image);
}
