/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout (backend/dropout_mask.h) of x [N, C, ...], keys [N, 2]. */
#include "backend/dropout_mask.h"
#include "backend/lower/lowering.h"

static void dropout(const sh_call *call)
{
    const sh_shape *shape = &call->in_type[0].shape;
    const sh_dropout drop = sh_dropout_of(call->attributes);
    const sh_dropout_extent extent = sh_dropout_extent_of(shape, call->channels_last);
    const size_t count = extent.channels * extent.positions;
    const float *x = call->in[0];
    const uint32_t *keys = call->in[1];
    float *y = call->out[0];
    for (size_t n = 0; n < shape->dim[0]; n++)
        sh_dropout_sample(call->kernels->variant, &drop, keys + 2 * n, x + n * count, y + n * count,
                          &extent);
}

const sh_lowering sh_lower_dropout = {.run = dropout, .layout = SH_LAYOUT_OF_FIRST};
