/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concat, slice and pad of channels-last images, so that values between convolutions are not
 * converted to be joined. Each is a copy of boxes; a box is copied in the order in which it lies in
 * memory, image, row, column, channel, whose channels lie side by side on both sides.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/onednn/primitive.h"

/* Extents and distances, in elements, of images, rows and columns; channels are side by side. */
typedef struct box {
    size_t dim[3], channels;
    size_t from[3], to[3];
    size_t from_offset, to_offset;
} box;

typedef struct move {
    size_t clear; /* bytes of the output to fill with zeros first */
    uint32_t count;
    box boxes[SH_MAX_INPUTS]; /* one an input */
} move;

static void copy_box(const box *b, const float *from, float *to)
{
    from += b->from_offset;
    to += b->to_offset;
    for (size_t n = 0; n < b->dim[0]; n++)
        for (size_t h = 0; h < b->dim[1]; h++)
            for (size_t w = 0; w < b->dim[2]; w++)
                memcpy(to + n * b->to[0] + h * b->to[1] + w * b->to[2],
                       from + n * b->from[0] + h * b->from[1] + w * b->from[2],
                       b->channels * sizeof *to);
}

static void run(const void *state, void *const *operands)
{
    const move *m = state;
    float *to = operands[m->count];
    memset(to, 0, m->clear);
    for (uint32_t i = 0; i < m->count; i++)
        copy_box(&m->boxes[i], operands[i], to);
}

static void distances(const sh_shape *shape, size_t distance[3])
{
    const size_t channels = shape->dim[1];
    distance[0] = shape->dim[2] * shape->dim[3] * channels;
    distance[1] = shape->dim[3] * channels;
    distance[2] = channels;
}

/* Where the element at `index`, by dimension of [N, C, H, W], lies. */
static size_t offset(const size_t *index, const size_t distance[3])
{
    return index[0] * distance[0] + index[1] + index[2] * distance[1] + index[3] * distance[2];
}

/* A box with the shape of `part`, between `from` and `to` at these indices in them. */
static box box_of(const sh_shape *part, const sh_shape *from, const size_t *from_index,
                  const sh_shape *to, const size_t *to_index)
{
    box b = {.dim = {part->dim[0], part->dim[2], part->dim[3]}, .channels = part->dim[1]};
    distances(from, b.from);
    distances(to, b.to);
    b.from_offset = offset(from_index, b.from);
    b.to_offset = offset(to_index, b.to);
    return b;
}

/* Takes images of which one is this backend's already. */
sh_status sh_onednn_move(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel kernel = {.run = run, .release = free};
    const sh_graph *graph = sh_compiler_graph(compiler);
    sh_buffer_id operands[SH_MAX_INPUTS + 1];
    bool any_is_ours = false;
    for (uint32_t i = 0; i < node->input_count; i++)
        any_is_ours |= sh_onednn_owns(compiler, node->in[i]);
    if (!any_is_ours || sh_graph_type(graph, node->in[0])->shape.rank != 4)
        return SH_OK;
    *taken = true;
    sh_layout layout;
    for (uint32_t i = 0; i < node->input_count; i++) {
        SH_TRY(sh_onednn_channels_last(compiler, &layout, node->in[i]));
        SH_TRY(sh_compiler_input(compiler, &operands[i], node->in[i], &layout));
    }
    SH_TRY(sh_onednn_channels_last(compiler, &layout, node->out[0]));
    SH_TRY(sh_compiler_output(compiler, &operands[node->input_count], node->out[0], &layout));

    static const size_t origin[SH_MAX_RANK];
    const sh_attributes *a = &node->attributes;
    const sh_type *y = sh_graph_type(graph, node->out[0]);
    size_t at[SH_MAX_RANK] = {0};
    move state = {.clear = node->op == SH_OP_pad ? sh_type_bytes(y) : 0,
                  .count = node->input_count};
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sh_shape *x = &sh_graph_type(graph, node->in[i])->shape;
        state.boxes[i] =
            node->op == SH_OP_slice
                ? box_of(&y->shape, x, a->before, &y->shape, origin)
                : box_of(x, x, origin, &y->shape, node->op == SH_OP_pad ? a->before : at);
        at[a->axis] += x->dim[a->axis];
    }
    return sh_compiler_emit_copy(compiler, &kernel, &state, sizeof state, operands,
                                 node->input_count + 1);
}
