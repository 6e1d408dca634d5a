/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and operators on images (gpu_products.c), for the list in gpu_ops.c.
 *
 *     [SH_OP_conv2d] = sh_gpu_lower_conv2d,
 *
 * Threads: as gpu_call.h.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_PRODUCTS_H
#define SHOAL_BACKEND_GPU_GPU_PRODUCTS_H

#include "backend/gpu/gpu_call.h"

/* pool and pool_grad are for avg_pool, pool_grad also for max_pool. */
sh_status sh_gpu_lower_linear(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_linear_grad_input(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_linear_grad_weight(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_matmul(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_bias_grad(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_conv2d(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_conv2d_grad_input(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_conv2d_grad_weight(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_max_pool(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_pool(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_pool_grad(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_resize(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_resize_grad(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_mean(const sh_gpu_call *call) SHOAL_CHECKED;
sh_status sh_gpu_lower_mean_grad(const sh_gpu_call *call) SHOAL_CHECKED;

static inline uint32_t tiles(size_t elements, uint32_t tile)
{
    return (uint32_t)((elements + tile - 1) / tile);
}

static inline uint32_t elements(const sh_type *type)
{
    return (uint32_t)sh_shape_count(&type->shape);
}

static inline const sh_attributes *attributes_of(const sh_gpu_call *call)
{
    return &call->node->attributes;
}

#endif
