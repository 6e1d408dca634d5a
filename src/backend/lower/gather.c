/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers x [outer, K, inner] along K by indices (graph/op_gather.c). */
#include <string.h>

#include "backend/lower/lowering.h"
#include "backend/lower/walk.h"

/* Index number i, or K if it is out of range. */
static size_t place_of(const sh_call *call, size_t i, size_t K)
{
    double index =
        trunc(call->in_type[1].dtype == SH_I32 ? (double)((const int32_t *)call->in[1])[i]
                                               : (double)((const float *)call->in[1])[i]);
    index += index < 0 ? (double)K : 0;
    return index >= 0 && index < (double)K ? (size_t)index : K;
}

static void gather(const sh_call *call)
{
    const sh_sides e = sh_around(call->attributes->axis, &call->in_type[0].shape);
    const size_t count = sh_shape_count(&call->in_type[1].shape);
    const float *x = call->in[0];
    float *y = call->out[0];
    for (size_t o = 0; o < e.outer; o++, x += e.K * e.inner)
        for (size_t i = 0; i < count; i++, y += e.inner) {
            const size_t place = place_of(call, i, e.K);
            if (place < e.K)
                memcpy(y, x + place * e.inner, e.inner * sizeof *y);
            for (size_t k = 0; k < e.inner && place == e.K; k++)
                y[k] = NAN;
        }
}

const sh_lowering sh_lower_gather = {.run = gather};

static void gather_grad(const sh_call *call)
{
    const sh_sides e = sh_around(call->attributes->axis, &call->out_type[0].shape);
    const size_t count = sh_shape_count(&call->in_type[1].shape);
    const float *restrict dy = call->in[0];
    float *restrict dx = call->out[0];
    memset(dx, 0, sh_type_bytes(&call->out_type[0]));
    for (size_t o = 0; o < e.outer; o++, dx += e.K * e.inner)
        for (size_t i = 0; i < count; i++, dy += e.inner) {
            const size_t place = place_of(call, i, e.K);
            for (size_t k = 0; k < e.inner && place < e.K; k++)
                dx[place * e.inner + k] += dy[k];
        }
}

const sh_lowering sh_lower_gather_grad = {.run = gather_grad};
