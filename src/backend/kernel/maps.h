/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise functions of arrays, and sums over arrays, by the functions of kernel/functions.h.
 *
 * A sum has 16 parts: part p adds elements p, p + 16, p + 32, ... in this order to +0. Then part
 * p + 8 is added to part p for p < 8, then p + 4 for p < 4, p + 2 and p + 1: part 0 is the sum.
 *
 *     kernels->activate(SH_OP_gelu, 0, count, x, y);
 *     const float sum = kernels->exp_sum(count, kernels->largest(count, x), x, y);
 *
 * Threads: any; operands are borrowed for the call.
 */
#ifndef SHOAL_BACKEND_KERNEL_MAPS_H
#define SHOAL_BACKEND_KERNEL_MAPS_H

#include <stddef.h>

#include "graph/formulas.h"
#include "graph/op.h"

/* y = op(x) for an activation; `number` is the slope of leaky_relu. y may be x. */
typedef void sh_activate(sh_op op, float number, size_t count, const float *x, float *y);

/* dx from dy and `kept`: x or y of the activation (graph/op_activation.c). dx may be either
 * operand. */
typedef void sh_activate_grad(sh_op op, float number, size_t count, const float *dy,
                              const float *kept, float *dx);

/* y = f(x), or the gradient dy f'(x) if dy is not NULL. y may be x or dy. */
typedef void sh_unary_map(sh_unary function, const float number[2], size_t count, const float *dy,
                          const float *x, float *y);

typedef enum sh_function { SH_EXP, SH_LOG, SH_TANH, SH_ERF } sh_function;

/* y = f(x). y may be x. */
typedef void sh_map(sh_function f, size_t count, const float *x, float *y);

/* The largest of count > 0 elements; unspecified if one is NaN. */
typedef float sh_largest(size_t count, const float *x);

/* The sum of e^(x - shift); stores the terms in y unless NULL. y may be x. */
typedef float sh_exp_sum(size_t count, float shift, const float *x, float *y);

/* The sum of x - shift. */
typedef float sh_sum_above(size_t count, float shift, const float *x);

/* The sum of the products a b, with multiply-adds. */
typedef float sh_dot(size_t count, const float *a, const float *b);

/* Sums in double precision. Each operation is rounded; none is fused. */
typedef enum sh_wide {
    SH_WIDE_SUM,      /* a */
    SH_WIDE_SQUARES,  /* (a - center)^2 */
    SH_WIDE_PRODUCTS, /* a (b - center) */
    SH_WIDE_DISTANCE, /* (a - b)^2 */
} sh_wide;

/* b is NULL if no term has it. */
typedef double sh_wide_sum(sh_wide terms, size_t count, const float *a, const float *b,
                           double center);

#endif
