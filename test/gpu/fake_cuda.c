/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements src/gpu/fake_cuda.h: device memory is host memory, addresses are pointers, and queued
 * work runs at once. It has one kernel:
 *
 *     add_scaled(y, x, a, count): y[i] += a * x[i], groups cover `count` items
 */
#include "gpu/fake_cuda.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda_calls.h"

__attribute__((visibility("default"))) fake_cuda fake_cuda_state;

#define FAKE __attribute__((visibility("default"))) CUresult

enum { NO_CONTEXT = 201, BLOCKS_MAX = 64 };

static char context_here, stream_here, module_here, function_here;
static CUcontext current;
static struct {
    void *address;
    size_t bytes;
} blocks[BLOCKS_MAX];

static CUresult fails(const char *call)
{
    const fake_cuda *fake = &fake_cuda_state;
    return fake->failing != NULL && strcmp(fake->failing, call) == 0 ? fake->error : 0;
}

/* Like fails, for calls that need a context. */
static CUresult fails_inside(const char *call)
{
    if (current == NULL) {
        fake_cuda_state.outside++;
        return NO_CONTEXT;
    }
    return fails(call);
}

static CUresult fails_on(CUstream stream, const char *call)
{
    if ((void *)stream != &stream_here) {
        fake_cuda_state.outside++;
        return CUDA_ERROR_INVALID_VALUE;
    }
    return fails_inside(call);
}

#define NEED(check)                                                                                \
    do {                                                                                           \
        const CUresult result_ = (check);                                                          \
        if (result_ != 0)                                                                          \
            return result_;                                                                        \
    } while (0)

/* Declarations with the types of the calls. */
#define DECLARE(name, parameters) __attribute__((visibility("default"))) CUresult name parameters;
SH_CUDA_CALLS(DECLARE)

FAKE cuInit(unsigned flags)
{
    return flags == 0 ? fails(__func__) : CUDA_ERROR_INVALID_VALUE;
}

FAKE cuDriverGetVersion(int *version)
{
    *version = fake_cuda_state.version;
    return fails(__func__);
}

FAKE cuDeviceGetCount(int *count)
{
    *count = fake_cuda_state.devices;
    return fails(__func__);
}

FAKE cuDeviceGet(CUdevice *device, int number)
{
    *device = 10 + number;
    return fails(__func__);
}

FAKE cuDeviceGetName(char *name, int room, CUdevice device)
{
    snprintf(name, (size_t)room, "Fake %d", device);
    return fails(__func__);
}

FAKE cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    (void)device;
    *bytes = fake_cuda_state.memory;
    return fails(__func__);
}

FAKE cuDeviceGetAttribute(int *value, int which, CUdevice device)
{
    const fake_cuda *fake = &fake_cuda_state;
    (void)device;
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
        *value = 49152;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = 8;
        break;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
        *value = 1;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
        *value = fake->compute_mode;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = fake->capability / 10;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = fake->capability % 10;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return fails(__func__);
}

FAKE cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    (void)device;
    NEED(fails(__func__));
    fake_cuda_state.contexts++;
    *context = (CUcontext)(void *)&context_here;
    return 0;
}

FAKE cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    (void)device;
    fake_cuda_state.contexts--;
    return fails(__func__);
}

FAKE cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return fails(__func__);
}

FAKE cuStreamCreate(CUstream *stream, unsigned flags)
{
    NEED(fails_inside(__func__));
    if (flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    fake_cuda_state.streams++;
    *stream = (CUstream)(void *)&stream_here;
    return 0;
}

FAKE cuStreamDestroy_v2(CUstream stream)
{
    fake_cuda_state.streams--;
    return fails_on(stream, __func__);
}

FAKE cuStreamSynchronize(CUstream stream)
{
    return fails_on(stream, __func__);
}

FAKE cuModuleLoadDataEx(CUmodule *module, const void *ptx, unsigned count, const int *options,
                        void **values)
{
    NEED(fails_inside(__func__));
    if (count != 2 || options[0] != CU_JIT_ERROR_LOG_BUFFER ||
        options[1] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (strncmp(ptx, ".version", 8) != 0) {
        snprintf(values[0], (size_t)(uintptr_t)values[1], "ptxas: line 1;\nno version");
        return CUDA_ERROR_INVALID_PTX;
    }
    fake_cuda_state.modules++;
    *module = (CUmodule)(void *)&module_here;
    return 0;
}

FAKE cuModuleUnload(CUmodule module)
{
    (void)module;
    fake_cuda_state.modules--;
    return fails_inside(__func__);
}

FAKE cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    (void)module;
    NEED(fails_inside(__func__));
    if (strcmp(name, "add_scaled") != 0)
        return CUDA_ERROR_NOT_FOUND;
    *function = (CUfunction)(void *)&function_here;
    return 0;
}

FAKE cuFuncGetAttribute(int *value, int which, CUfunction function)
{
    (void)function;
    *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 256 : -1;
    return fails_inside(__func__);
}

FAKE cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    fake_cuda *fake = &fake_cuda_state;
    NEED(fails_inside(__func__));
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > fake->memory - fake->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (blocks[i].address == NULL) {
            blocks[i].address = malloc(bytes);
            blocks[i].bytes = bytes;
            if (blocks[i].address == NULL)
                return CUDA_ERROR_OUT_OF_MEMORY;
            fake->used += bytes;
            *address = (CUdeviceptr)(uintptr_t)blocks[i].address;
            return 0;
        }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

FAKE cuMemFree_v2(CUdeviceptr address)
{
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (address != 0 && (CUdeviceptr)(uintptr_t)blocks[i].address == address) {
            free(blocks[i].address);
            blocks[i].address = NULL;
            fake_cuda_state.used -= blocks[i].bytes;
            return fails_inside(__func__);
        }
    return CUDA_ERROR_INVALID_VALUE;
}

FAKE cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    NEED(fails_on(stream, __func__));
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

FAKE cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    NEED(fails_on(stream, __func__));
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

FAKE cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream stream)
{
    NEED(fails_on(stream, __func__));
    for (size_t i = 0; i < count; i++)
        memcpy((char *)(uintptr_t)at + 4 * i, &value, 4);
    return 0;
}

FAKE cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned x, unsigned y, unsigned z, unsigned shared, CUstream stream,
                    void **parameters, void **extra)
{
    CUdeviceptr out, in;
    float scale;
    uint32_t count;
    NEED(fails_on(stream, __func__));
    if (shared != 0 || extra != NULL || (void *)function != &function_here)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&out, parameters[0], sizeof out);
    memcpy(&in, parameters[1], sizeof in);
    memcpy(&scale, parameters[2], sizeof scale);
    memcpy(&count, parameters[3], sizeof count);
    const uint64_t items = (uint64_t)grid_x * grid_y * grid_z * x * y * z;
    float *values = (float *)(uintptr_t)out;
    const float *added = (const float *)(uintptr_t)in;
    for (uint32_t i = 0; i < count && i < items; i++)
        values[i] = fmaf(scale, added == NULL ? 1.0F : added[i], values[i]);
    return 0;
}
