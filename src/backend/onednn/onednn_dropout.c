/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout (backend/drop.h) of channels-last images, so that they are not converted for it. */
#include <stdlib.h>

#include "backend/drop.h"
#include "backend/onednn/primitive.h"

typedef struct dropout {
    sh_drop drop;
    sh_drop_extent extent;
    size_t samples;
} dropout;

static void run(const void *state, void *const *operands)
{
    const dropout *d = state;
    const size_t count = d->extent.channels * d->extent.positions;
    const float *x = operands[0];
    const uint32_t *keys = operands[1];
    float *y = operands[2];
    for (size_t n = 0; n < d->samples; n++)
        sh_drop_sample(&d->drop, keys + 2 * n, x + n * count, y + n * count, &d->extent);
}

sh_status sh_onednn_dropout(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel kernel = {.run = run, .release = free};
    const sh_shape *shape = &sh_graph_type(sh_compiler_graph(compiler), node->in[0])->shape;
    sh_buffer_id operands[3];
    sh_layout layout;
    if (!sh_onednn_owns(compiler, node->in[0]) || shape->rank < 3 ||
        shape->rank > SH_ONEDNN_CHANNELS_LAST_RANK)
        return SH_OK;
    *taken = true;
    SH_TRY(sh_onednn_channels_last(compiler, &layout, node->in[0]));
    SH_TRY(sh_compiler_input(compiler, &operands[0], node->in[0], &layout));
    SH_TRY(sh_compiler_input(compiler, &operands[1], node->in[1], NULL));
    SH_TRY(sh_compiler_output(compiler, &operands[2], node->out[0], &layout));
    sh_compiler_may_overwrite(compiler, operands[2], operands[0]);
    const dropout state = {sh_drop_of(&node->attributes), sh_drop_extent_of(shape, true),
                           shape->dim[0]};
    return sh_compiler_emit_copy(compiler, &kernel, &state, sizeof state, operands, 3);
}
