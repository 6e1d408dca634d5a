/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of training, compiled once for each instruction set (variant). All variants give
 * the same bits (docs/arithmetic.md).
 *
 *     SH_TRY(sh_kernels_choose(&kernels, NULL));
 *     kernels->product(&job);
 *
 * Threads: any; tables are constant.
 */
#ifndef SHOAL_BACKEND_KERNEL_KERNELS_H
#define SHOAL_BACKEND_KERNEL_KERNELS_H

#include "backend/kernel/depthwise.h"
#include "backend/kernel/maps.h"
#include "backend/kernel/product.h"
#include "backend/kernel/transpose.h"
#include "base/variant.h"

#define SH_MULTIPLY_ADDS ((size_t)12 * 16 * 4096)

typedef struct sh_kernels {
    sh_variant variant;
    const char *name;
    bool emulates; /* has no multiply-add instruction: the same bits, very slowly */
    void (*product)(const sh_matrix_product *product);
    float (*multiply_adds)(void); /* SH_MULTIPLY_ADDS in registers, for the peak rate */
    sh_transpose *transpose;
    sh_depthwise_forward *depthwise_forward;
    sh_depthwise_input *depthwise_input;
    sh_depthwise_weight *depthwise_weight;
    sh_activate *activate;
    sh_activate_grad *activate_grad;
    sh_unary_map *unary;
    sh_map *map;
    sh_largest *largest;
    sh_exp_sum *exp_sum;
    sh_sum_above *sum_above;
    sh_dot *dot;
    sh_wide_sum *wide_sum;
} sh_kernels;

/* The variants of this build, by sh_variant; NULL at the end. Not all run on this processor. */
const sh_kernels *const *sh_kernels_all(void);

/* The kernels of the variant that sh_variant_find() finds by `name`; NULL: of the chosen one. */
sh_status sh_kernels_choose(const sh_kernels **kernels, const char *name) SHOAL_CHECKED;

#endif
