/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of each element (graph/op_unary.c). */
#include "backend/lower/lowering.h"

static void forward(const sh_call *call)
{
    call->kernels->unary(call->attributes->function, call->attributes->numbers, call->elements,
                         NULL, call->in[0], call->out[0]);
}

const sh_lowering sh_lower_unary = {
    .run = forward, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_OUT(0)};

static void backward(const sh_call *call)
{
    call->kernels->unary(call->attributes->function, call->attributes->numbers, call->elements,
                         call->in[0], call->in[1], call->out[0]);
}

const sh_lowering sh_lower_unary_grad = {
    .run = backward, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_IN(1) | SH_OUT(0)};
