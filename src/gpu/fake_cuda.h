/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a libcuda.so.1 that computes on the processor and fails on demand.
 *
 * A test loads it by path, so that gpu/cuda.c finds it by name. Test's thread only.
 *
 *     fake_cuda *fake = ...;                       // fake_cuda_state of the loaded library
 *     fake->failing = "cuMemAlloc_v2";
 *     fake->error = 2;
 */
#ifndef SHOAL_GPU_FAKE_CUDA_H
#define SHOAL_GPU_FAKE_CUDA_H

#include <stddef.h>

typedef struct fake_cuda {
    const char *failing; /* fails with `error`; NULL: none */
    int error;
    int devices, capability, version, compute_mode; /* capability 70: 7.0 */
    size_t memory;                                  /* bytes of a device */
    size_t used;
    int contexts, streams, modules; /* open now */
    int outside;                    /* calls without a context, or on another's stream */
} fake_cuda;

#endif
