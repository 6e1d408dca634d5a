/* SPDX-License-Identifier: Apache-2.0 */
/* The table of one variant. The including file defines VARIANT, a name of base/variant.h. */
#include "backend/kernel/depthwise_loops.h"
#include "backend/kernel/kernels.h"
#include "backend/kernel/maps_loops.h"
#include "backend/kernel/maps_unary.h"
#include "backend/kernel/product_loops.h"
#include "backend/kernel/transpose_loops.h"

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define TEXT(a) #a
#define TEXT_OF(a) TEXT(a)

/* Twelve chains keep two units busy. The sum keeps the compiler from removing them. */
static float multiply_adds(void)
{
    const vec x = vec_all(0.5f), y = vec_all(0.25f);
    vec chain[12], sum = {0};
    for (size_t i = 0; i < 12; i++)
        chain[i] = vec_all((float)i);
    for (size_t done = 0; done < SH_MULTIPLY_ADDS; done += (size_t)12 * VEC) {
#pragma GCC unroll 12
        for (size_t i = 0; i < 12; i++)
            chain[i] = vec_fma(chain[i], x, y);
    }
    for (size_t i = 0; i < 12; i++)
        sum += chain[i];
    return sum[0];
}

const sh_kernels NAMED(sh_kernels_, VARIANT) = {
    .variant = NAMED(SH_VARIANT_, VARIANT),
    .name = TEXT_OF(VARIANT),
#if defined(VEC_EMULATES)
    .emulates = true,
#endif
    .product = product,
    .multiply_adds = multiply_adds,
    .transpose = transpose,
    .depthwise_forward = depthwise_forward,
    .depthwise_input = depthwise_input,
    .depthwise_weight = depthwise_weight,
    .activate = activate,
    .activate_grad = activate_grad,
    .unary = unary,
    .map = map,
    .largest = largest,
    .exp_sum = exp_sum,
    .sum_above = sum_above,
    .dot = dot,
    .wide_sum = wide_sum,
};
