/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/lower/walk.h"

sh_sides sh_around(size_t axis, const sh_shape *shape)
{
    sh_sides sides = {1, shape->dim[axis], 1};
    for (size_t i = 0; i < shape->rank; i++)
        if (i != axis)
            *(i < axis ? &sides.outer : &sides.inner) *= shape->dim[i];
    return sides;
}

void sh_strides(size_t stride[SH_MAX_RANK], const sh_shape *shape, bool channels_last)
{
    const bool last = channels_last && shape->rank > 2;
    size_t step = last ? shape->dim[1] : 1;
    for (size_t i = shape->rank; i-- > 0;) {
        if (last && i == 1) {
            stride[1] = 1;
            continue;
        }
        stride[i] = step;
        step *= shape->dim[i];
    }
}

void sh_strides_repeated(size_t stride[SH_MAX_RANK], const sh_shape *shape, bool channels_last,
                         const sh_shape *whole)
{
    size_t own[SH_MAX_RANK];
    const size_t missing = whole->rank - shape->rank;
    sh_strides(own, shape, channels_last);
    for (size_t i = 0; i < whole->rank; i++)
        stride[i] = i < missing || shape->dim[i - missing] == 1 ? 0 : own[i - missing];
}

static void append(sh_walk *w, size_t dim, size_t a, size_t b)
{
    const size_t outer = w->rank - 1;
    if (dim == 1)
        return;
    if (w->rank > 0 && w->stride[0][outer] == a * dim && w->stride[1][outer] == b * dim) {
        dim *= w->dim[outer];
        w->rank--;
    }
    w->dim[w->rank] = dim;
    w->stride[0][w->rank] = a;
    w->stride[1][w->rank++] = b;
}

sh_walk sh_walk_over(const sh_shape *shape, bool channels_last, const size_t *a, const size_t *b)
{
    const bool last = channels_last && shape->rank > 2;
    sh_walk w = {.length = 1, .step = {1, 1}};
    for (size_t i = 0; i < shape->rank; i++)
        if (!last || i != 1)
            append(&w, shape->dim[i], a[i], b[i]);
    if (last)
        append(&w, shape->dim[1], a[1], b[1]);
    if (w.rank > 0) {
        w.length = w.dim[--w.rank];
        w.step[0] = w.stride[0][w.rank];
        w.step[1] = w.stride[1][w.rank];
    }
    return w;
}

bool sh_walk_next(sh_walk *w)
{
    for (size_t i = w->rank; i-- > 0;) {
        w->offset[0] += w->stride[0][i];
        w->offset[1] += w->stride[1][i];
        if (++w->at[i] < w->dim[i])
            return true;
        w->offset[0] -= w->dim[i] * w->stride[0][i];
        w->offset[1] -= w->dim[i] * w->stride[1][i];
        w->at[i] = 0;
    }
    return false;
}
