/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of biases: db [C] is the sum of the rows of channels-last dy [rows, C]. Several rows
 * form one long row, so that vectors are full for any C.
 */
#include <string.h>

#include "backend/lower/lowering.h"
#include "base/variant.h"

#define LONG_ROW 256 /* floats: fits the first-level cache with the input */

static inline SH_INLINE void add_to(float *restrict total, const float *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        total[i] += in[i];
}

static inline SH_INLINE void sum_body(size_t rows, size_t columns, const float *in, float *out)
{
    if (columns > LONG_ROW) {
        memset(out, 0, columns * sizeof *out);
        for (size_t row = 0; row < rows; row++)
            add_to(out, in + row * columns, columns);
        return;
    }
    float total[LONG_ROW] = {0};
    const size_t together = LONG_ROW / columns, width = together * columns;
    const size_t elements = rows * columns, whole = elements / width * width;
    for (size_t i = 0; i < whole; i += width)
        add_to(total, in + i, width);
    add_to(total, in + whole, elements - whole);
    memcpy(out, total, columns * sizeof *out);
    for (size_t i = 1; i < together; i++)
        add_to(out, total + i * columns, columns);
}

SH_VARIANTS(sum, (size_t rows, size_t columns, const float *in, float *out),
            (rows, columns, in, out));

void sh_sum_rows(sh_variant variant, size_t rows, size_t columns, const float *dy, float *db)
{
    sum_variants[variant](rows, columns, dy, db);
}

static void bias_grad(const sh_call *call)
{
    const size_t channels = call->in_type[0].shape.dim[1];
    sh_sum_rows(call->kernels->variant, call->elements / channels, channels, call->in[0],
                call->out[0]);
}

const sh_lowering sh_lower_bias_grad = {.run = bias_grad, .layout = SH_LAYOUT_CHANNELS_LAST};
