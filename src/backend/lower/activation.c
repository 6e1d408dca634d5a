/* SPDX-License-Identifier: Apache-2.0 */
/* Activations (graph/op_activation.c). */
#include "backend/lower/lowering.h"

#define ACTIVATION(name)                                                                           \
    static void name##_forward(const sh_call *call)                                                \
    {                                                                                              \
        call->kernels->activate(SH_OP_##name, call->attributes->number, call->elements,            \
                                call->in[0], call->out[0]);                                        \
    }                                                                                              \
    const sh_lowering sh_lower_##name = {                                                          \
        .run = name##_forward, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_OUT(0)};   \
    static void name##_backward(const sh_call *call)                                               \
    {                                                                                              \
        call->kernels->activate_grad(SH_OP_##name, call->attributes->number, call->elements,       \
                                     call->in[0], call->in[1], call->out[0]);                      \
    }                                                                                              \
    const sh_lowering sh_lower_##name##_grad = {.run = name##_backward,                            \
                                                .layout = SH_LAYOUT_OF_FIRST,                      \
                                                .by_sample = SH_IN(0) | SH_IN(1) | SH_OUT(0)};

ACTIVATION(relu)
ACTIVATION(relu6)
ACTIVATION(leaky_relu)
ACTIVATION(sigmoid)
ACTIVATION(tanh)
ACTIVATION(silu)
ACTIVATION(gelu)
ACTIVATION(hard_sigmoid)
ACTIVATION(hard_swish)
