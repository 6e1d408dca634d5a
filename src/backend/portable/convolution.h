/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways of convolving share: matrix products (conv2d.c), fewer of them for 3x3 at stride 1
 * (winograd.c), and loops over planes for convolutions with one input channel a group
 * (depthwise.c). All work on padded copies of the input, so that no inner loop asks whether it is
 * still inside the image.
 *
 *     if (sh_convolution_is_depthwise(&g))
 *         sh_depthwise_forward(&g, call);
 *
 * Threads: any. Pointers are borrowed until the call returns.
 */
#ifndef SHOAL_BACKEND_PORTABLE_CONVOLUTION_H
#define SHOAL_BACKEND_PORTABLE_CONVOLUTION_H

#include <string.h>

#include "backend/portable/portable.h"

/* x [N, C groups, H, W], w [O groups, C, R, S], y [N, O groups, P, Q]. */
typedef struct sh_convolution {
    const sh_attributes *a; /* borrowed */
    size_t images, groups;
    size_t C, H, W; /* input channels of a group, height, width */
    size_t O, R, S; /* output channels of a group, kernel height and width */
    size_t P, Q;    /* output height and width */
    size_t K;       /* products of an output: C R S */
    size_t Y, X;    /* height and width of the padded input, as far as windows reach */
} sh_convolution;

/* Copies planes [H, W] into padded ones [Y, X], whose edges the caller has zeroed. */
void sh_convolution_pad(const sh_convolution *g, size_t planes, const float *x, float *padded);

/* Copies what lies within padded planes [Y, X] to planes [H, W]; zero where no window reaches. */
void sh_convolution_crop(const sh_convolution *g, size_t planes, const float *padded, float *x);

/* Copies a row: in pieces of a known size where it can, because most rows are too short for calls.
 */
static inline void sh_convolution_copy(float *restrict to, const float *restrict from, size_t count)
{
    if (count % 8 == 0)
        for (size_t i = 0; i < count; i += 8)
            memcpy(to + i, from + i, 8 * sizeof *to);
    else if (count % 2 == 0 && count < 32)
        for (size_t i = 0; i < count; i += 2)
            memcpy(to + i, from + i, 2 * sizeof *to);
    else
        memcpy(to, from, count * sizeof *to);
}

/* The sum of `count` floats, in a fixed order. */
float sh_convolution_sum(const float *values, size_t count);

/* One input channel a group, and more than one group? */
bool sh_convolution_is_depthwise(const sh_convolution *g);

/* The operators' kernels where it is so: operands as the operators have them. */
void sh_depthwise_forward(const sh_convolution *g, const sh_portable_call *call);
void sh_depthwise_grad_input(const sh_convolution *g, const sh_portable_call *call);
void sh_depthwise_grad_weight(const sh_convolution *g, const sh_portable_call *call);

/* Bytes of scratch that each of them wants. */
size_t sh_depthwise_scratch(const sh_convolution *g);

/* A kernel of 3x3 at stride 1, with enough channels to pay and weights that stay in the cache? */
bool sh_convolution_is_winograd(const sh_convolution *g);

/* The operators' kernels where it is so, and it is not depthwise. */
void sh_winograd_forward(const sh_convolution *g, const sh_portable_call *call);
void sh_winograd_grad_input(const sh_convolution *g, const sh_portable_call *call);
void sh_winograd_grad_weight(const sh_convolution *g, const sh_portable_call *call);

/* Bytes of scratch that each of them wants. */
size_t sh_winograd_scratch(const sh_convolution *g);

#endif
