/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphics processors, through NVIDIA's driver (cuda.c) or an OpenCL driver (opencl.c).
 *
 *     SH_TRY(sh_gpu_write(x, values));
 *     SH_TRY(sh_gpu_launch(kernel, (uint32_t[]){groups, 1, 1}, (uint32_t[]){64, 1, 1},
 *                          (sh_gpu_argument[]){sh_gpu_pointer(x), sh_gpu_u32(count)}, 2));
 *     SH_TRY(sh_gpu_read(values, x));
 *     SH_TRY(sh_gpu_finish(gpu));                     // now the values are there
 *
 * A GPU works in order and asynchronously: writes, clears, launches and reads only queue. Any later
 * call may report their failure, sh_gpu_finish at the latest. After a failure, except SH_NO_MEMORY
 * of sh_gpu_memory_new, close the GPU.
 *
 * Failures: SH_UNSUPPORTED: no driver, or the GPU lacks something. SH_PERMISSION: the system denies
 * access. SH_NO_MEMORY: the GPU's memory is exhausted. SH_IO: the GPU was lost or failed.
 *
 * Threads: any for counting and describing; caller locks for a GPU and all that was made on it.
 */
#ifndef SHOAL_GPU_DEVICE_H
#define SHOAL_GPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_GPU_MAX 16           /* GPUs of a machine; more are not seen */
#define SH_GPU_ALIGNMENT 4096   /* of a range's offset in its memory */
#define SH_GPU_ARGUMENTS_MAX 32 /* of a kernel */

typedef struct sh_gpu sh_gpu;
typedef struct sh_gpu_module sh_gpu_module;
typedef struct sh_gpu_kernel sh_gpu_kernel;
typedef struct sh_gpu_memory sh_gpu_memory;

typedef struct sh_gpu_description {
    char name[96];
    char driver[8];       /* "cuda" or "opencl" */
    char version[64];     /* the driver's */
    uint64_t memory;      /* bytes; if `unified`, of the machine's */
    uint32_t vendor;      /* PCI number; NVIDIA: 0x10de */
    uint32_t units;       /* multiprocessors or compute units */
    uint32_t group_items; /* limit of work items in a group */
    uint32_t group_bytes; /* of a group's memory */
    bool unified;         /* shares its memory with the processor */
    bool processor;       /* the processor itself (PoCL): for tests, never chosen automatically */
    bool usable;
    char why_not[192]; /* "" if usable */
} sh_gpu_description;

/* Numbered from 0: first NVIDIA's GPUs, then those of OpenCL, and processors last. SH_NOT_FOUND has
 * what each driver said. */
uint32_t sh_gpu_count(void);
sh_status sh_gpu_describe(sh_gpu_description *description, uint32_t number) SHOAL_CHECKED;

/* Owned: free everything made on it before sh_gpu_close. */
sh_status sh_gpu_open(sh_gpu **gpu, uint32_t number) SHOAL_CHECKED;
void sh_gpu_close(sh_gpu *gpu);

/* Borrowed until sh_gpu_close. */
const sh_gpu_description *sh_gpu_describe_open(const sh_gpu *gpu);

/* The same kernels in two languages; NULL: not available. */
typedef struct sh_gpu_source {
    const char *opencl; /* OpenCL C 1.2; no multiply-add is contracted */
    const char *ptx;    /* zero-terminated */
} sh_gpu_source;

/* May take seconds. SH_FORMAT has the beginning of the compiler's message. Owned; the source is
 * borrowed for the call. */
sh_status sh_gpu_module_new(sh_gpu_module **module, sh_gpu *gpu,
                            const sh_gpu_source *source) SHOAL_CHECKED;
void sh_gpu_module_free(sh_gpu_module *module);

/* SH_NOT_FOUND names the kernel. Borrowed until sh_gpu_module_free. */
sh_status sh_gpu_kernel_get(sh_gpu_kernel **kernel, sh_gpu_module *module,
                            const char *name) SHOAL_CHECKED;

uint32_t sh_gpu_kernel_items(const sh_gpu_kernel *kernel);

/* Uninitialised. Owned; free it when nothing queued uses it. */
sh_status sh_gpu_memory_new(sh_gpu_memory **memory, sh_gpu *gpu, size_t bytes) SHOAL_CHECKED;
void sh_gpu_memory_free(sh_gpu_memory *memory);

/* The offset is a multiple of SH_GPU_ALIGNMENT. */
typedef struct sh_gpu_range {
    sh_gpu_memory *memory; /* borrowed */
    size_t offset, bytes;
} sh_gpu_range;

/* The host's memory is borrowed until the next sh_gpu_finish. Clearing needs a multiple of 4
 * bytes. */
sh_status sh_gpu_write(sh_gpu_range range, const void *host) SHOAL_CHECKED;
sh_status sh_gpu_read(void *host, sh_gpu_range range) SHOAL_CHECKED;
sh_status sh_gpu_clear(sh_gpu_range range) SHOAL_CHECKED;

/* A value of the parameter's size, or a pointer to a range. The kernel touches nothing outside the
 * range. */
typedef struct sh_gpu_argument {
    enum { SH_GPU_POINTER, SH_GPU_U32, SH_GPU_F32, SH_GPU_STRUCT } kind;
    union {
        sh_gpu_range range; /* memory NULL: a null pointer */
        uint32_t u32;
        float f32;
        struct {
            const void *at;
            size_t bytes;
        } value; /* borrowed until the launch returns */
    };
} sh_gpu_argument;

static inline sh_gpu_argument sh_gpu_pointer(sh_gpu_range range)
{
    return (sh_gpu_argument){.kind = SH_GPU_POINTER, .range = range};
}
static inline sh_gpu_argument sh_gpu_u32(uint32_t value)
{
    return (sh_gpu_argument){.kind = SH_GPU_U32, .u32 = value};
}
static inline sh_gpu_argument sh_gpu_f32(float value)
{
    return (sh_gpu_argument){.kind = SH_GPU_F32, .f32 = value};
}
static inline sh_gpu_argument sh_gpu_struct(const void *at, size_t bytes)
{
    return (sh_gpu_argument){.kind = SH_GPU_STRUCT, .value = {at, bytes}};
}

/* Queues grid[0] * grid[1] * grid[2] groups of group[0] * group[1] * group[2] work items (at most
 * sh_gpu_kernel_items). grid[1] and grid[2] have 16 bits. Does nothing if a number is 0. Copies the
 * arguments. */
sh_status sh_gpu_launch(sh_gpu_kernel *kernel, const uint32_t grid[3], const uint32_t group[3],
                        const sh_gpu_argument *arguments, uint32_t count) SHOAL_CHECKED;

sh_status sh_gpu_finish(sh_gpu *gpu) SHOAL_CHECKED;

#endif
