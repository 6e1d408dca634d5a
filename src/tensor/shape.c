/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/shape.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"

static const struct {
    size_t bytes;
    const char *text;
} dtypes[] = {
#define DTYPE_ROW(name, bytes, text) [SH_##name] = {bytes, text},
    SH_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

size_t sh_dtype_bytes(sh_dtype dtype)
{
    return dtypes[dtype].bytes;
}

const char *sh_dtype_text(sh_dtype dtype)
{
    return dtypes[dtype].text;
}

sh_shape sh_shape_of(size_t rank, const size_t *dim)
{
    assert(rank <= SH_MAX_RANK);
    sh_shape shape = {.rank = rank};
    for (size_t i = 0; i < rank; i++)
        shape.dim[i] = dim[i];
    return shape;
}

bool sh_shape_equal(const sh_shape *a, const sh_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (size_t i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

bool sh_type_equal(const sh_type *a, const sh_type *b)
{
    return a->dtype == b->dtype && sh_shape_equal(&a->shape, &b->shape);
}

sh_status sh_shape_check(const sh_shape *shape)
{
    char text[SH_SHAPE_TEXT];
    size_t bytes = 8;
    if (shape->rank > SH_MAX_RANK)
        return sh_fail(SH_LIMIT, "a shape of %zu dimensions: at most %d are supported", shape->rank,
                       SH_MAX_RANK);
    for (size_t i = 0; i < shape->rank; i++) {
        if (shape->dim[i] == 0)
            return sh_fail(SH_LIMIT, "shape %s: dimension %zu is empty",
                           sh_shape_print(shape, text), i);
        if (!sh_size_mul(bytes, shape->dim[i], &bytes))
            return sh_fail(SH_LIMIT, "shape %s is larger than the address space",
                           sh_shape_print(shape, text));
    }
    return SH_OK;
}

size_t sh_shape_count(const sh_shape *shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape->rank; i++)
        count *= shape->dim[i];
    return count;
}

size_t sh_type_bytes(const sh_type *type)
{
    return sh_shape_count(&type->shape) * sh_dtype_bytes(type->dtype);
}

const char *sh_shape_print(const sh_shape *shape, char text[SH_SHAPE_TEXT])
{
    if (shape->rank == 0)
        snprintf(text, SH_SHAPE_TEXT, "scalar");
    size_t used = 0;
    for (size_t i = 0; i < shape->rank && i < SH_MAX_RANK; i++) {
        const int wrote =
            snprintf(text + used, SH_SHAPE_TEXT - used, i == 0 ? "%zu" : "x%zu", shape->dim[i]);
        used += (size_t)wrote;
    }
    return text;
}
