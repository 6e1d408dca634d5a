/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call makes the GPU's primary context current in the calling thread. One stream keeps work in
 * order. The driver caches compiled kernels (~/.nv/ComputeCache).
 *
 * After a kernel has failed, all calls in the context fail until the process ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gpu/cuda_calls.h"
#include "gpu/device_files.h"
#include "gpu/driver.h"

enum {
    NVIDIA = 0x10de,
    CAPABILITY_MIN = 70, /* the PTX's target: Volta, and Xavier among the Jetsons */
    DRIVER_MIN = 11000,  /* the first that knows PTX 7.0 */
};

typedef struct cuda_gpu {
    sh_gpu base;
    cuda_calls cu;
    CUdevice device;
    CUcontext context; /* NULL: not retained */
    CUstream stream;
} cuda_gpu;

typedef struct cuda_module {
    sh_gpu_module base;
    CUmodule handle;
} cuda_module;

typedef struct cuda_kernel {
    sh_gpu_kernel base;
    CUfunction handle;
} cuda_kernel;

typedef struct cuda_memory {
    sh_gpu_memory base;
    CUdeviceptr address;
} cuda_memory;

static cuda_gpu *gpu_of(sh_gpu *gpu)
{
    return (cuda_gpu *)(void *)gpu;
}

static sh_status judge(const cuda_gpu *gpu, CUresult result, const char *doing)
{
    char whom[sizeof gpu->base.description.name + 8];
    if (result == 0)
        return SH_OK;
    snprintf(whom, sizeof whom, "GPU %s", gpu->base.description.name);
    return sh_cuda_judge(result, whom, doing);
}

/* Every operation begins with this, because the context belongs to a thread. */
static sh_status enter(const cuda_gpu *gpu)
{
    return judge(gpu, gpu->cu.cuCtxSetCurrent(gpu->context), "making it current");
}

/* Devices */

static sh_status start_driver(cuda_calls *cu)
{
    static const char *const files[] = {"/dev/nvidiactl", "/dev/nvidia0",    "/dev/nvidia-uvm",
                                        "/dev/nvmap",     "/dev/nvhost-gpu", NULL};
    SH_TRY(sh_cuda_load(cu));
    const CUresult result = cu->cuInit(0);
    const char *forbidden = result == 0 ? NULL : sh_gpu_forbidden_file(files);
    if (forbidden != NULL)
        return sh_fail(
            SH_PERMISSION,
            "this user cannot read and write %s: add the user to the groups video and render",
            forbidden);
    return sh_cuda_judge(result, "NVIDIA's driver", "its start");
}

/* Returns 0 if the device does not report it. */
static uint32_t attribute(const cuda_calls *cu, CUdevice device, int which)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, which, device) == 0 && value > 0 ? (uint32_t)value : 0;
}

static void find_lack(char *text, size_t room, const cuda_calls *cu, CUdevice device,
                      int driver_version)
{
    const uint32_t major = attribute(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const uint32_t minor = attribute(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    text[0] = '\0';
    if (driver_version < DRIVER_MIN)
        snprintf(text, room, "its driver is for CUDA %d.%d, but CUDA %d.%d is needed: update it",
                 driver_version / 1000, driver_version % 1000 / 10, DRIVER_MIN / 1000,
                 DRIVER_MIN % 1000 / 10);
    else if (major * 10 + minor < CAPABILITY_MIN)
        snprintf(text, room, "its compute capability is %u.%u, but %d.%d is needed", major, minor,
                 CAPABILITY_MIN / 10, CAPABILITY_MIN % 10);
    else if (attribute(cu, device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_PROHIBITED)
        snprintf(text, room, "its compute mode prohibits it: nvidia-smi -c DEFAULT");
}

static sh_status describe(sh_gpu_description *out, const cuda_calls *cu, CUdevice device)
{
    int version = 0;
    size_t memory = 0;
    *out = (sh_gpu_description){
        .driver = "cuda",
        .vendor = NVIDIA,
        .units = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .group_items = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .group_bytes = attribute(cu, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .unified = attribute(cu, device, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0,
    };
    SH_TRY(sh_cuda_judge(cu->cuDeviceGetName(out->name, sizeof out->name - 1, device),
                         "NVIDIA's driver", "naming a GPU"));
    SH_TRY(sh_cuda_judge(cu->cuDeviceTotalMem_v2(&memory, device), out->name, "asking its memory"));
    SH_TRY(sh_cuda_judge(cu->cuDriverGetVersion(&version), out->name, "asking its version"));
    out->memory = memory;
    snprintf(out->version, sizeof out->version, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    find_lack(out->why_not, sizeof out->why_not, cu, device, version);
    out->usable = out->why_not[0] == '\0';
    return SH_OK;
}

static sh_status describe_number(sh_gpu_description *out, const cuda_calls *cu, uint32_t number)
{
    CUdevice device;
    SH_TRY(sh_cuda_judge(cu->cuDeviceGet(&device, (int)number), "NVIDIA's driver", "finding it"));
    return describe(out, cu, device);
}

static sh_status list_gpus(sh_gpu_description *list, uint32_t max, uint32_t *count)
{
    cuda_calls cu;
    int found = 0;
    SH_TRY(start_driver(&cu));
    SH_TRY(sh_cuda_judge(cu.cuDeviceGetCount(&found), "NVIDIA's driver", "counting GPUs"));
    const uint32_t most = found < 0 ? 0 : (uint32_t)found < max ? (uint32_t)found : max;
    for (uint32_t i = 0; i < most; i++)
        if (describe_number(&list[i], &cu, i) != SH_OK) {
            list[i] = (sh_gpu_description){.name = "of NVIDIA", .driver = "cuda", .vendor = NVIDIA};
            snprintf(list[i].why_not, sizeof list[i].why_not, "%s", sh_message());
        }
    *count = most;
    return SH_OK;
}

/* A GPU */

static void close_gpu(sh_gpu *base)
{
    cuda_gpu *gpu = gpu_of(base);
    if (gpu->context != NULL) {
        (void)gpu->cu.cuCtxSetCurrent(gpu->context);
        if (gpu->stream != NULL)
            (void)gpu->cu.cuStreamDestroy_v2(gpu->stream);
        (void)gpu->cu.cuCtxSetCurrent(NULL);
        (void)gpu->cu.cuDevicePrimaryCtxRelease_v2(gpu->device);
    }
    free(gpu);
}

static sh_status open_parts(cuda_gpu *gpu, uint32_t index)
{
    CUcontext context;
    SH_TRY(start_driver(&gpu->cu));
    SH_TRY(sh_cuda_judge(gpu->cu.cuDeviceGet(&gpu->device, (int)index), "NVIDIA's driver",
                         "finding a GPU"));
    SH_TRY(describe(&gpu->base.description, &gpu->cu, gpu->device));
    SH_TRY(judge(gpu, gpu->cu.cuDevicePrimaryCtxRetain(&context, gpu->device), "opening it"));
    gpu->context = context;
    SH_TRY(enter(gpu));
    return judge(gpu, gpu->cu.cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING),
                 "opening its queue");
}

static sh_status open_gpu(sh_gpu **out, uint32_t index)
{
    void *block;
    SH_TRY(sh_block_new(&block, sizeof(cuda_gpu), "a GPU"));
    cuda_gpu *gpu = block;
    const sh_status status = open_parts(gpu, index);
    if (status != SH_OK)
        close_gpu(&gpu->base);
    else
        *out = &gpu->base;
    return status;
}

/* Modules and kernels */

static sh_status fail_load(const cuda_gpu *gpu, CUresult result, char *log)
{
    for (char *c = log; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    const sh_status status = judge(gpu, result, "compiling its kernels");
    return log[0] == '\0' ? status
                          : sh_fail(status, "GPU %s: its compiler refuses the kernels: %s",
                                    gpu->base.description.name, log);
}

static sh_status new_module(sh_gpu_module **out, sh_gpu *base, const sh_gpu_source *source)
{
    const cuda_gpu *gpu = gpu_of(base);
    void *block;
    if (source->ptx == NULL)
        return sh_fail(SH_UNSUPPORTED,
                       "GPU %s: this build has no kernels for CUDA (clang was missing)",
                       base->description.name);
    SH_TRY(enter(gpu));
    SH_TRY(sh_block_new(&block, sizeof(cuda_module), "kernels of a GPU"));
    cuda_module *module = block;
    char log[640] = "";
    const int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    const CUresult result =
        gpu->cu.cuModuleLoadDataEx(&module->handle, source->ptx, 2, options, values);
    if (result != 0) {
        free(module);
        return fail_load(gpu, result, log);
    }
    *out = &module->base;
    return SH_OK;
}

static void free_module(sh_gpu_module *base)
{
    const cuda_gpu *gpu = gpu_of(base->gpu);
    (void)gpu->cu.cuCtxSetCurrent(gpu->context);
    (void)gpu->cu.cuModuleUnload(((cuda_module *)(void *)base)->handle);
    free(base);
}

static sh_status find_function(cuda_kernel *kernel, const cuda_gpu *gpu, CUmodule module,
                               const char *name)
{
    int items = 0;
    const CUresult result = gpu->cu.cuModuleGetFunction(&kernel->handle, module, name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return sh_fail(SH_NOT_FOUND, "GPU %s: has no kernel '%s'", gpu->base.description.name,
                       name);
    SH_TRY(judge(gpu, result, name));
    SH_TRY(judge(
        gpu,
        gpu->cu.cuFuncGetAttribute(&items, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel->handle),
        name));
    kernel->base.items = (uint32_t)items;
    return SH_OK;
}

static sh_status new_kernel(sh_gpu_kernel **out, sh_gpu_module *base, const char *name)
{
    const cuda_gpu *gpu = gpu_of(base->gpu);
    void *block;
    SH_TRY(enter(gpu));
    SH_TRY(sh_block_new(&block, sizeof(cuda_kernel), "a kernel of a GPU"));
    cuda_kernel *kernel = block;
    const sh_status status =
        find_function(kernel, gpu, ((cuda_module *)(void *)base)->handle, name);
    if (status != SH_OK)
        free(kernel);
    else
        *out = &kernel->base;
    return status;
}

static void free_kernel(sh_gpu_kernel *kernel)
{
    free(kernel); /* the module owns its function */
}

/* Memory */

static sh_status new_memory(sh_gpu_memory **out, sh_gpu *base, size_t bytes)
{
    const cuda_gpu *gpu = gpu_of(base);
    void *block;
    char doing[64];
    SH_TRY(enter(gpu));
    SH_TRY(sh_block_new(&block, sizeof(cuda_memory), "a GPU's memory"));
    cuda_memory *memory = block;
    snprintf(doing, sizeof doing, "allocating %.1f MB of its memory", (double)bytes / 1e6);
    const sh_status status =
        judge(gpu, gpu->cu.cuMemAlloc_v2(&memory->address, bytes == 0 ? 4 : bytes), doing);
    if (status != SH_OK)
        free(memory);
    else
        *out = &memory->base;
    return status;
}

static void free_memory(sh_gpu_memory *base)
{
    const cuda_gpu *gpu = gpu_of(base->gpu);
    (void)gpu->cu.cuCtxSetCurrent(gpu->context);
    (void)gpu->cu.cuMemFree_v2(((cuda_memory *)(void *)base)->address);
    free(base);
}

static CUdeviceptr address_of(sh_gpu_range range)
{
    return ((const cuda_memory *)(const void *)range.memory)->address + (CUdeviceptr)range.offset;
}

/* Work */

static sh_status write_range(sh_gpu_range range, const void *host)
{
    const cuda_gpu *gpu = gpu_of(range.memory->gpu);
    SH_TRY(enter(gpu));
    return judge(gpu,
                 gpu->cu.cuMemcpyHtoDAsync_v2(address_of(range), host, range.bytes, gpu->stream),
                 "writing to it");
}

static sh_status read_range(void *host, sh_gpu_range range)
{
    const cuda_gpu *gpu = gpu_of(range.memory->gpu);
    SH_TRY(enter(gpu));
    return judge(gpu,
                 gpu->cu.cuMemcpyDtoHAsync_v2(host, address_of(range), range.bytes, gpu->stream),
                 "reading from it");
}

static sh_status clear_range(sh_gpu_range range)
{
    const cuda_gpu *gpu = gpu_of(range.memory->gpu);
    SH_TRY(enter(gpu));
    return judge(gpu, gpu->cu.cuMemsetD32Async(address_of(range), 0, range.bytes / 4, gpu->stream),
                 "clearing its memory");
}

static sh_status launch(sh_gpu_kernel *base, const uint32_t grid[3], const uint32_t group[3],
                        const sh_gpu_argument *arguments, uint32_t count)
{
    const cuda_kernel *kernel = (const cuda_kernel *)(const void *)base;
    const cuda_gpu *gpu = gpu_of(base->gpu);
    CUdeviceptr addresses[SH_GPU_ARGUMENTS_MAX];
    const void *pointers[SH_GPU_ARGUMENTS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes;
        if (arguments[i].kind != SH_GPU_POINTER)
            pointers[i] = sh_gpu_argument_value(&arguments[i], &bytes);
        else {
            addresses[i] = arguments[i].range.memory == NULL ? 0 : address_of(arguments[i].range);
            pointers[i] = &addresses[i];
        }
    }
    SH_TRY(enter(gpu));
    return judge(gpu,
                 gpu->cu.cuLaunchKernel(kernel->handle, grid[0], grid[1], grid[2], group[0],
                                        group[1], group[2], 0, gpu->stream, (void **)pointers,
                                        NULL),
                 base->name);
}

static sh_status finish(sh_gpu *base)
{
    const cuda_gpu *gpu = gpu_of(base);
    SH_TRY(enter(gpu));
    return judge(gpu, gpu->cu.cuStreamSynchronize(gpu->stream), "computing");
}

const sh_gpu_driver *sh_gpu_cuda(void)
{
    static const sh_gpu_driver driver = {
        .name = "CUDA",
        .list = list_gpus,
        .open = open_gpu,
        .close = close_gpu,
        .module_new = new_module,
        .module_free = free_module,
        .kernel_new = new_kernel,
        .kernel_free = free_kernel,
        .memory_new = new_memory,
        .memory_free = free_memory,
        .write = write_range,
        .read = read_range,
        .clear = clear_range,
        .launch = launch,
        .finish = finish,
    };
    return &driver;
}
