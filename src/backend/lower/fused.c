/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/lower/lowering.h"

typedef struct relu_sum {
    const float *y, *a, *b;
    float *dx; /* may be a or b */
    size_t count;
    bool bounded;
} relu_sum;

static inline SH_INLINE void add_passing(const relu_sum *s, bool bounded)
{
    const float *const y = s->y, *const a = s->a, *const b = s->b;
    float *const dx = s->dx;
    SH_EACH_ELEMENT (i, s->count) {
        const float sum = a[i] + b[i]; /* without a branch */
        const bool passes = (y[i] > 0.0f) & (!bounded | (y[i] < 6.0f));
        dx[i] = passes ? sum : 0.0f;
    }
}

static inline SH_INLINE void relu_sum_body(const relu_sum *s)
{
    if (s->bounded)
        add_passing(s, true);
    else
        add_passing(s, false);
}
SH_VARIANTS(relu_sum, (const relu_sum *s), (s));

static void relu_sum_grad(const sh_call *call)
{
    relu_sum_variants[call->kernels->variant](&(relu_sum){
        .y = call->in[0],
        .a = call->in[1],
        .b = call->in[2],
        .dx = call->out[0],
        .count = call->elements,
        .bounded = call->attributes->activation == SH_ACTIVATION_RELU6,
    });
}

const sh_lowering sh_lower_relu_sum_grad = {.run = relu_sum_grad,
                                            .layout = SH_LAYOUT_OF_FIRST,
                                            .by_sample =
                                                SH_IN(0) | SH_IN(1) | SH_IN(2) | SH_OUT(0)};
