/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of the kernels, embedded by cmake, and the module compiled from it.
 *
 *     SH_TRY(sh_gpu_kernels_find(&kernel, kernels, "relu"));
 *
 * Threads: as gpu_program.h.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_KERNELS_H
#define SHOAL_BACKEND_GPU_GPU_KERNELS_H

#include "backend/gpu/gpu_program.h"

/* A gzip-compressed text. sh_gpu_kernels_ptx is empty if the build had no clang for PTX. */
typedef struct sh_gpu_packed {
    const unsigned char *data;
    size_t bytes;
} sh_gpu_packed;

extern const sh_gpu_packed sh_gpu_kernels_opencl, sh_gpu_kernels_ptx;

/* Borrowed until sh_gpu_kernels_free. */
sh_status sh_gpu_kernels_find(sh_gpu_kernel **kernel, sh_gpu_kernels *kernels,
                              const char *name) SHOAL_CHECKED;
sh_gpu *sh_gpu_kernels_device(const sh_gpu_kernels *kernels);

/* For tests: new programs use this entry of each list of tiles (gpu_products.c), if it exists. */
#define SH_GPU_TILES 5
#define SH_GPU_BEST_TILE UINT32_MAX
void sh_gpu_kernels_force_tile(sh_gpu_kernels *kernels, uint32_t tile);
uint32_t sh_gpu_kernels_tile(const sh_gpu_kernels *kernels);

#endif
