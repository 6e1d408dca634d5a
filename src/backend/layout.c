/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/layout.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/variant.h"

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

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* With k as the outer loop, plain is accessed in a few streams. */
static inline SH_INLINE void move_columns(const sh_matrix *m, size_t columns, float *packed,
                                          float *plain, bool packs)
{
    const size_t *const count = m->count;
    for (size_t k = 0; k < count[2]; k++)
        for (size_t i = 0; i < count[0]; i++)
            for (size_t j = 0; j < count[1]; j++) {
                float *const row = packed + ((i * count[1] + j) * count[2] + k) * m->width;
                float *const from = plain + (ptrdiff_t)i * m->step[0] + (ptrdiff_t)j * m->step[1] +
                                    (ptrdiff_t)k * m->step[2];
                for (size_t c = 0; c < columns; c++)
                    if (packs)
                        row[c] = from[c * m->column_step];
                    else
                        from[c * m->column_step] = row[c];
            }
}

/* Packs a few columns that are contiguous in `plain`. */
static void turn_columns(const sh_kernels *kernels, const sh_matrix *m, size_t columns,
                         float *packed, const float *plain)
{
    for (size_t i = 0; i < m->count[0]; i++)
        for (size_t j = 0; j < m->count[1]; j++, packed += m->count[2] * m->width)
            kernels->transpose(columns, m->count[2],
                               plain + (ptrdiff_t)i * m->step[0] + (ptrdiff_t)j * m->step[1],
                               m->column_step, packed, m->width);
}

static inline SH_INLINE void move_all(const sh_kernels *kernels, const sh_matrix *m, float *packed,
                                      float *plain)
{
    enum { TOGETHER = 16 };
    const bool packs = kernels != NULL;
    const size_t rows = m->count[0] * m->count[1] * m->count[2];
    for (size_t first = 0; first < m->columns; first += TOGETHER) {
        float *const panel = packed + first / m->width * rows * m->width + first % m->width;
        float *const of_first = plain + first * m->column_step;
        if (packs && m->step[2] == 1)
            turn_columns(kernels, m, least(TOGETHER, m->columns - first), panel, of_first);
        else if (m->columns - first >= TOGETHER)
            move_columns(m, TOGETHER, panel, of_first, packs);
        else
            move_columns(m, m->columns - first, panel, of_first, packs);
    }
}

static void pack(const sh_kernels *kernels, const sh_matrix *m, const float *plain, float *packed)
{
    const size_t rows = m->count[0] * m->count[1] * m->count[2], rest = m->columns % m->width;
    float *const last = packed + m->to + m->columns / m->width * rows * m->width;
    for (size_t i = 0; i < rows && rest > 0; i++)
        memset(last + i * m->width + rest, 0, (m->width - rest) * sizeof *last);
    /* Packing only reads the plain value. */
    move_all(kernels, m, packed + m->to, (float *)(uintptr_t)(plain + m->from));
}

void sh_matrix_unpack(const sh_matrix *m, const float *packed, float *plain)
{
    move_all(NULL, m, (float *)(uintptr_t)packed, plain + m->from);
}

static void transpose_bytes(size_t rows, size_t columns, const uint8_t *restrict from,
                            uint8_t *restrict to)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

void sh_layout_convert(const sh_kernels *kernels, const sh_type *type, const sh_layout *from,
                       const void *source, const sh_layout *to, void *target)
{
    if (to->packing != NULL) {
        for (size_t i = 0; i < to->packing->count; i++)
            pack(kernels, &to->packing->matrices[i], source, target);
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
            kernels->transpose(rows, columns, (const float *)source + n * image, columns,
                               (float *)target + n * image, rows);
}
