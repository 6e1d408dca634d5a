/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU must first prove that its arithmetic is that of docs/arithmetic.md: each operation that
 * kernels use must give the processor's bits for thousands of values, chosen (zeros, denormals,
 * ties, infinities) or random.
 *
 *     SH_TRY(sh_gpu_kernels_new(&kernels, gpu));
 *     SH_TRY(sh_gpu_check_conformance(kernels));
 *
 * Threads: as gpu_program.h.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_CONFORMANCE_H
#define SHOAL_BACKEND_GPU_GPU_CONFORMANCE_H

#include "backend/gpu/gpu_program.h"

/* Waits. SH_UNSUPPORTED names the GPU, the operation and values with other bits. */
sh_status sh_gpu_check_conformance(sh_gpu_kernels *kernels) SHOAL_CHECKED;

#endif
