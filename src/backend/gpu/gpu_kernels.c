/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/gpu/gpu_kernels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct sh_gpu_kernels {
    sh_gpu *gpu;
    sh_gpu_module *module;
};

sh_status sh_gpu_kernels_new(sh_gpu_kernels **kernels, sh_gpu *gpu)
{
    sh_gpu_kernels *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sh_fail_memory(sizeof *made, "the kernels of a GPU");
    made->gpu = gpu;
    const sh_gpu_source source = {sh_gpu_kernels_opencl,
                                  sh_gpu_kernels_ptx[0] != '\0' ? sh_gpu_kernels_ptx : NULL};
    const sh_status status = sh_gpu_module_new(&made->module, gpu, &source);
    if (status != SH_OK) {
        free(made);
        return status;
    }
    *kernels = made;
    return SH_OK;
}

void sh_gpu_kernels_free(sh_gpu_kernels *kernels)
{
    if (kernels == NULL)
        return;
    sh_gpu_module_free(kernels->module);
    free(kernels);
}

sh_status sh_gpu_kernels_find(sh_gpu_kernel **kernel, sh_gpu_kernels *kernels, const char *name)
{
    char symbol[64];
    const int length = snprintf(symbol, sizeof symbol, "sh_%s",
                                name); /* OpenCL has functions of some of the names */
    assert(length > 0 && (size_t)length < sizeof symbol);
    return sh_gpu_kernel_get(kernel, kernels->module, symbol);
}

sh_gpu *sh_gpu_kernels_device(const sh_gpu_kernels *kernels)
{
    return kernels->gpu;
}
