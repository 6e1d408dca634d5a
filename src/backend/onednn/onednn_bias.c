/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of biases: the sum of dy over all but its channels, which lie side by side: db [C] is
 * the sum of the rows of dy [rows, C]. The library's convolution does this too, in 128-bit loops
 * that took 7 % of LeNet's step.
 *
 * As many rows as fit are taken for one long row, so that vectors are full whatever C is, and each
 * channel is summed in several chains, which also rounds less.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/onednn/primitive.h"
#include "base/variant.h"

#define LONG_ROW 256 /* floats: fits the first-level cache together with what is read */

typedef struct row_sum {
    size_t rows, columns;
} row_sum;

static inline SH_INLINE void add_to(float *restrict total, const float *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        total[i] += in[i];
}

static inline SH_INLINE void sum_body(const row_sum *sum, const float *in, float *out)
{
    const size_t columns = sum->columns;
    if (columns > LONG_ROW) {
        memset(out, 0, columns * sizeof *out);
        for (size_t row = 0; row < sum->rows; row++)
            add_to(out, in + row * columns, columns);
        return;
    }
    float total[LONG_ROW] = {0};
    const size_t together = LONG_ROW / columns, width = together * columns;
    const size_t elements = sum->rows * columns, whole = elements / width * width;
    for (size_t i = 0; i < whole; i += width)
        add_to(total, in + i, width);
    add_to(total, in + whole, elements - whole);
    memcpy(out, total, columns * sizeof *out);
    for (size_t i = 1; i < together; i++)
        add_to(out, total + i * columns, columns);
}

SH_VARIANTS(sum, (const row_sum *sum, const float *in, float *out), (sum, in, out));

static void run(const void *state, void *const *operands)
{
    sum_variants[sh_variant_best()](state, operands[0], operands[1]);
}

sh_status sh_onednn_emit_bias_gradient(sh_compiler *compiler, const sh_node *node,
                                       const sh_layout *layout)
{
    static const sh_kernel kernel = {.run = run, .release = free};
    const sh_shape *dy = &sh_graph_type(sh_compiler_graph(compiler), node->in[1])->shape;
    sh_buffer_id buffers[2];
    SH_TRY(sh_compiler_input(compiler, &buffers[0], node->in[1], layout));
    SH_TRY(sh_compiler_output(compiler, &buffers[1], node->out[1], NULL));
    const row_sum sum = {.rows = sh_shape_count(dy) / dy->dim[1], .columns = dy->dim[1]};
    return sh_compiler_emit_copy(compiler, &kernel, &sum, sizeof sum, buffers, 2);
}
