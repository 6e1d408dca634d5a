/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of OpenCL 1.2 that gpu/opencl.c makes. Building needs no OpenCL header; the loader's
 * library is loaded at first use.
 *
 * Source: The OpenCL Specification 1.2, Khronos; its appendix has the numbers.
 *
 *     opencl_calls cl;
 *     SH_TRY(sh_opencl_load(&cl));
 *     cl.clGetPlatformIDs(0, NULL, &count);
 *
 * Threads: any.
 */
#ifndef SHOAL_GPU_OPENCL_CALLS_H
#define SHOAL_GPU_OPENCL_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint32_t cl_bool;
typedef uint64_t cl_bitfield;

typedef struct cl_buffer_region {
    size_t origin, size;
} cl_buffer_region;

enum {
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_VENDOR_ID = 0x1001,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101b,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_ENDIAN_LITTLE = 0x1026,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102b,
    CL_DRIVER_VERSION = 0x102d,
    CL_DEVICE_VERSION = 0x102f,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
};

/* Bits of CL_DEVICE_TYPE and of CL_DEVICE_SINGLE_FP_CONFIG. */
enum {
    CL_DEVICE_TYPE_CPU = 1 << 1,
    CL_FP_DENORM = 1 << 0,
    CL_FP_INF_NAN = 1 << 1,
    CL_FP_ROUND_TO_NEAREST = 1 << 2,
    CL_FP_FMA = 1 << 5,
    CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 1 << 7,
    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED = 1 << 1,
};

#define CL_DEVICE_TYPE_ALL 0xffffffffU

enum { CL_MEM_READ_WRITE = 1, CL_BUFFER_CREATE_TYPE_REGION = 0x1220 };

/* Number, name, status. */
#define SH_OPENCL_ERRORS(X)                                                                        \
    X(-1, DEVICE_NOT_FOUND, NOT_FOUND)                                                             \
    X(-2, DEVICE_NOT_AVAILABLE, IO)                                                                \
    X(-4, MEM_OBJECT_ALLOCATION_FAILURE, NO_MEMORY)                                                \
    X(-5, OUT_OF_RESOURCES, NO_MEMORY)                                                             \
    X(-6, OUT_OF_HOST_MEMORY, NO_MEMORY)                                                           \
    X(-11, BUILD_PROGRAM_FAILURE, FORMAT)                                                          \
    X(-14, EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, IO)                                          \
    X(-46, INVALID_KERNEL_NAME, NOT_FOUND)                                                         \
    X(-54, INVALID_WORK_GROUP_SIZE, INTERNAL)                                                      \
    X(-61, INVALID_BUFFER_SIZE, NO_MEMORY)                                                         \
    X(-1001, PLATFORM_NOT_FOUND, NOT_FOUND)

enum {
#define SH_OPENCL_ERROR(number, name, status) CL_##name = number,
    SH_OPENCL_ERRORS(SH_OPENCL_ERROR)
#undef SH_OPENCL_ERROR
        CL_SUCCESS = 0,
};

#define SH_OPENCL_CALLS(X)                                                                         \
    X(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                            \
    X(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))   \
    X(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                  \
    X(cl_context, clCreateContext,                                                                 \
      (const intptr_t *, cl_uint, const cl_device_id *,                                            \
       void (*)(const char *, const void *, size_t, void *), void *, cl_int *))                    \
    X(cl_int, clReleaseContext, (cl_context))                                                      \
    X(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))   \
    X(cl_int, clReleaseCommandQueue, (cl_command_queue))                                           \
    X(cl_int, clFinish, (cl_command_queue))                                                        \
    X(cl_program, clCreateProgramWithSource,                                                       \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *))                              \
    X(cl_int, clBuildProgram,                                                                      \
      (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *),      \
       void *))                                                                                    \
    X(cl_int, clGetProgramBuildInfo,                                                               \
      (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                               \
    X(cl_int, clReleaseProgram, (cl_program))                                                      \
    X(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                             \
    X(cl_int, clGetKernelWorkGroupInfo,                                                            \
      (cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *))                                \
    X(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                          \
    X(cl_int, clReleaseKernel, (cl_kernel))                                                        \
    X(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                 \
    X(cl_mem, clCreateSubBuffer, (cl_mem, cl_bitfield, cl_uint, const void *, cl_int *))           \
    X(cl_int, clReleaseMemObject, (cl_mem))                                                        \
    X(cl_int, clEnqueueMigrateMemObjects,                                                          \
      (cl_command_queue, cl_uint, const cl_mem *, cl_bitfield, cl_uint, const cl_event *,          \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueWriteBuffer,                                                                \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueReadBuffer,                                                                 \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,       \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueFillBuffer,                                                                 \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *))                                                                                \
    X(cl_int, clEnqueueNDRangeKernel,                                                              \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,       \
       cl_uint, const cl_event *, cl_event *))

typedef struct opencl_calls {
#define SH_OPENCL_MEMBER(type, name, parameters) type(*name) parameters;
    SH_OPENCL_CALLS(SH_OPENCL_MEMBER)
#undef SH_OPENCL_MEMBER
} opencl_calls;

/* SH_UNSUPPORTED: no OpenCL loader is installed. */
sh_status sh_opencl_load(opencl_calls *calls) SHOAL_CHECKED;

/* Returns the name without its prefix, or "" for an unknown error. */
const char *sh_opencl_error(cl_int error, sh_status *status);

#endif
