/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a GPU driver: a table of operations, which gpu/device.c calls for gpu/device.h.
 * All are required.
 *
 * Only `finish` waits for the GPU; `list`, `open` and `module_new` may take long anyway. A driver's
 * own structs begin with those below. Threads as in gpu/device.h.
 *
 *     static const sh_gpu_driver driver = {.name = "opencl", .list = list_devices, ...};
 *     const sh_gpu_driver *sh_gpu_opencl(void) { return &driver; }
 */
#ifndef SHOAL_GPU_DRIVER_H
#define SHOAL_GPU_DRIVER_H

#include "gpu/device.h"

typedef struct sh_gpu_driver {
    const char *name; /* "cuda", "opencl" */
    /* Loads the library. The order is always the same. Fails with the reason if there is no GPU. */
    sh_status (*list)(sh_gpu_description *list, uint32_t max, uint32_t *count);
    /* Number `index` of the list is a usable GPU. The caller sets driver and description. */
    sh_status (*open)(sh_gpu **gpu, uint32_t index);
    void (*close)(sh_gpu *gpu);
    sh_status (*module_new)(sh_gpu_module **module, sh_gpu *gpu, const sh_gpu_source *source);
    void (*module_free)(sh_gpu_module *module);
    /* Sets `items`. gpu/device.c keeps the kernel and frees it before its module. */
    sh_status (*kernel_new)(sh_gpu_kernel **kernel, sh_gpu_module *module, const char *name);
    void (*kernel_free)(sh_gpu_kernel *kernel);
    sh_status (*memory_new)(sh_gpu_memory **memory, sh_gpu *gpu, size_t bytes);
    void (*memory_free)(sh_gpu_memory *memory);
    sh_status (*write)(sh_gpu_range range, const void *host);
    sh_status (*read)(void *host, sh_gpu_range range);
    sh_status (*clear)(sh_gpu_range range);
    sh_status (*launch)(sh_gpu_kernel *kernel, const uint32_t grid[3], const uint32_t group[3],
                        const sh_gpu_argument *arguments, uint32_t count);
    sh_status (*finish)(sh_gpu *gpu);
} sh_gpu_driver;

struct sh_gpu {
    const sh_gpu_driver *driver;
    sh_gpu_description description;
};

struct sh_gpu_module {
    sh_gpu *gpu;
    sh_gpu_kernel *kernels;
};

struct sh_gpu_kernel {
    sh_gpu *gpu;
    sh_gpu_kernel *next; /* of its module */
    uint32_t items;      /* limit for a group */
    char name[60];
};

struct sh_gpu_memory {
    sh_gpu *gpu;
    size_t bytes;
};

const sh_gpu_driver *sh_gpu_cuda(void);
const sh_gpu_driver *sh_gpu_opencl(void);

/* For arguments that are not pointers. */
static inline const void *sh_gpu_argument_value(const sh_gpu_argument *argument, size_t *bytes)
{
    if (argument->kind == SH_GPU_STRUCT) {
        *bytes = argument->value.bytes;
        return argument->value.at;
    }
    *bytes = sizeof argument->u32;
    return &argument->u32;
}

#endif
