/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of CUDA's driver interface that gpu/cuda.c makes. Building needs nothing of CUDA;
 * NVIDIA's library is loaded at first use.
 *
 * Source: CUDA Driver API, NVIDIA; names end in _v2 if the library also has an older function.
 *
 *     cuda_calls cu;
 *     SH_TRY(sh_cuda_load(&cu));
 *     cu.cuInit(0);
 *
 * Threads: any.
 */
#ifndef SHOAL_GPU_CUDA_CALLS_H
#define SHOAL_GPU_CUDA_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef int CUdevice;
typedef int CUresult;
#if UINTPTR_MAX > UINT32_MAX
typedef unsigned long long CUdeviceptr;
#else
typedef unsigned int CUdeviceptr;
#endif

/* Attributes of devices and functions, and options for compiling PTX. */
enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_COMPUTEMODE_PROHIBITED = 2,
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_STREAM_NON_BLOCKING = 1,
    CU_JIT_ERROR_LOG_BUFFER = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

/* Number, name, status, and explanation for the user or "". */
#define SH_CUDA_ERRORS(X)                                                                          \
    X(1, INVALID_VALUE, INTERNAL, "")                                                              \
    X(2, OUT_OF_MEMORY, NO_MEMORY, "its memory is exhausted")                                      \
    X(34, STUB_LIBRARY, UNSUPPORTED, "libcuda.so.1 is the build stub, not the driver's")           \
    X(46, DEVICE_UNAVAILABLE, IO, "another process uses it exclusively")                           \
    X(100, NO_DEVICE, NOT_FOUND, "the driver finds no GPU")                                        \
    X(200, INVALID_IMAGE, FORMAT, "")                                                              \
    X(209, NO_BINARY_FOR_GPU, UNSUPPORTED, "the kernels are for newer GPUs")                       \
    X(214, ECC_UNCORRECTABLE, IO, "its memory has an uncorrectable error")                         \
    X(218, INVALID_PTX, FORMAT, "")                                                                \
    X(221, JIT_COMPILER_NOT_FOUND, UNSUPPORTED,                                                    \
      "the driver's compiler is missing (libnvidia-ptxjitcompiler.so.1)")                          \
    X(222, UNSUPPORTED_PTX_VERSION, VERSION, "the driver is too old for the kernels: update it")   \
    X(304, OPERATING_SYSTEM, PERMISSION, "the system refuses a request of the driver")             \
    X(500, NOT_FOUND, NOT_FOUND, "")                                                               \
    X(700, ILLEGAL_ADDRESS, IO,                                                                    \
      "a kernel accessed invalid memory; this process can no longer use the GPU")                  \
    X(701, LAUNCH_OUT_OF_RESOURCES, IO, "a kernel needs more resources than it has")               \
    X(702, LAUNCH_TIMEOUT, IO, "a kernel took too long; this process can no longer use the GPU")   \
    X(719, LAUNCH_FAILED, IO, "a kernel failed; this process can no longer use the GPU")           \
    X(800, NOT_PERMITTED, PERMISSION, "this user has no permission to use it")                     \
    X(802, SYSTEM_NOT_READY, IO, "the driver is not ready yet: is nvidia-fabricmanager running?")  \
    X(803, SYSTEM_DRIVER_MISMATCH, VERSION,                                                        \
      "libcuda.so.1 and the kernel's module are of different versions: restart after an update")   \
    X(804, COMPAT_NOT_SUPPORTED_ON_DEVICE, VERSION,                                                \
      "libcuda.so.1 is too new for this GPU's driver")                                             \
    X(999, UNKNOWN, IO, "the driver gives no reason")

enum {
#define SH_CUDA_NUMBER(number, name, status, meaning) CUDA_ERROR_##name = number,
    SH_CUDA_ERRORS(SH_CUDA_NUMBER)
#undef SH_CUDA_NUMBER
};

#define SH_CUDA_CALLS(X)                                                                           \
    X(cuInit, (unsigned))                                                                          \
    X(cuDriverGetVersion, (int *))                                                                 \
    X(cuDeviceGetCount, (int *))                                                                   \
    X(cuDeviceGet, (CUdevice *, int))                                                              \
    X(cuDeviceGetName, (char *, int, CUdevice))                                                    \
    X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                   \
    X(cuDeviceGetAttribute, (int *, int, CUdevice))                                                \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                           \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                    \
    X(cuCtxSetCurrent, (CUcontext))                                                                \
    X(cuStreamCreate, (CUstream *, unsigned))                                                      \
    X(cuStreamDestroy_v2, (CUstream))                                                              \
    X(cuStreamSynchronize, (CUstream))                                                             \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, const int *, void **))              \
    X(cuModuleUnload, (CUmodule))                                                                  \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                 \
    X(cuFuncGetAttribute, (int *, int, CUfunction))                                                \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                      \
    X(cuMemFree_v2, (CUdeviceptr))                                                                 \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))                         \
    X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))                               \
    X(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                                 \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
                       unsigned, CUstream, void **, void **))

typedef struct cuda_calls {
#define SH_CUDA_MEMBER(name, parameters) CUresult(*name) parameters;
    SH_CUDA_CALLS(SH_CUDA_MEMBER)
#undef SH_CUDA_MEMBER
} cuda_calls;

/* SH_UNSUPPORTED: NVIDIA's driver is not installed, or lacks a call. */
sh_status sh_cuda_load(cuda_calls *calls) SHOAL_CHECKED;

/* SH_OK for 0. `whom` names the GPU or driver, `doing` the attempt. */
sh_status sh_cuda_judge(CUresult result, const char *whom, const char *doing) SHOAL_CHECKED;

#endif
