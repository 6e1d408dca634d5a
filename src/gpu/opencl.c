/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory is one buffer. Ranges passed to kernels become sub-buffers, which the memory keeps; a
 * program has a few hundred.
 *
 * The queue is in order. Options make the compiler round division and square root correctly; the
 * first line of each program forbids contraction; denormals are kept by default.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "gpu/driver.h"
#include "gpu/opencl_calls.h"

enum { PLATFORMS_MAX = 16, DEVICES_MAX = SH_GPU_MAX };

static const char build_options[] = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
static const char first_line[] = "#pragma OPENCL FP_CONTRACT OFF\n";

typedef struct opencl_gpu {
    sh_gpu base;
    opencl_calls cl;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
} opencl_gpu;

typedef struct opencl_module {
    sh_gpu_module base;
    cl_program program;
} opencl_module;

typedef struct opencl_kernel {
    sh_gpu_kernel base;
    cl_kernel handle;
} opencl_kernel;

typedef struct sub_buffer {
    size_t offset, bytes;
    cl_mem handle; /* NULL: free */
} sub_buffer;

typedef struct opencl_memory {
    sh_gpu_memory base;
    cl_mem buffer;
    sub_buffer *parts;         /* by a hash of offset and bytes */
    size_t places, part_count; /* places: 0, or a power of two of at least twice the count */
} opencl_memory;

static opencl_gpu *gpu_of(sh_gpu *gpu)
{
    return (opencl_gpu *)(void *)gpu;
}

static sh_status judge(const opencl_gpu *gpu, cl_int error, const char *doing)
{
    if (error == CL_SUCCESS)
        return SH_OK;
    sh_status status;
    const char *name = sh_opencl_error(error, &status);
    return sh_fail(status, "GPU %s: %s failed: OpenCL error %d%s%s", gpu->base.description.name,
                   doing, error, name[0] == '\0' ? "" : ", CL_", name);
}

/* Devices */

static sh_status find_devices(const opencl_calls *cl, cl_device_id *devices, uint32_t *count)
{
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint platform_count = 0;
    const cl_int error = cl->clGetPlatformIDs(PLATFORMS_MAX, platforms, &platform_count);
    if (error == CL_PLATFORM_NOT_FOUND || (error == CL_SUCCESS && platform_count == 0))
        return sh_fail(SH_NOT_FOUND, "no driver is installed (/etc/OpenCL/vendors)");
    if (error != CL_SUCCESS)
        return sh_fail(SH_IO, "clGetPlatformIDs failed: error %d", error);
    *count = 0;
    for (cl_uint i = 0; i < platform_count && i < PLATFORMS_MAX; i++) {
        cl_uint more = 0;
        if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, DEVICES_MAX - *count,
                               devices + *count, &more) == CL_SUCCESS)
            *count += more < DEVICES_MAX - *count ? more : DEVICES_MAX - *count;
        if (*count == DEVICES_MAX)
            break;
    }
    return SH_OK;
}

/* A property has one to eight bytes. Returns 0 if the device does not report it. */
static uint64_t number_of(const opencl_calls *cl, cl_device_id device, cl_uint what)
{
    uint64_t number = 0; /* little-endian, like the processor */
    size_t bytes = 0;
    if (cl->clGetDeviceInfo(device, what, sizeof number, &number, &bytes) != CL_SUCCESS)
        return 0;
    return number;
}

static void text_of(char *text, size_t room, const opencl_calls *cl, cl_device_id device,
                    cl_uint what)
{
    char whole[1024] = "";
    if (cl->clGetDeviceInfo(device, what, sizeof whole - 1, whole, NULL) != CL_SUCCESS)
        whole[0] = '\0';
    snprintf(text, room, "%.*s", (int)room - 1, whole);
}

/* Returns what the arithmetic requires and the device lacks, or NULL. */
static const char *what_lacks(const opencl_calls *cl, cl_device_id device, const char *version)
{
    int major = 0, minor = 0;
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
        return "its driver is older than OpenCL 1.2";
    if (number_of(cl, device, CL_DEVICE_AVAILABLE) == 0)
        return "its driver says that it is unavailable";
    if (number_of(cl, device, CL_DEVICE_COMPILER_AVAILABLE) == 0)
        return "its driver has no compiler";
    if (number_of(cl, device, CL_DEVICE_ENDIAN_LITTLE) == 0)
        return "it is big-endian";
    static const struct {
        uint64_t bit;
        const char *lack;
    } needs[] = {
        {CL_FP_FMA, "it has no fused multiply-add"},
        {CL_FP_DENORM, "it flushes denormals to zero"},
        {CL_FP_INF_NAN, "it has no infinities and NaN"},
        {CL_FP_ROUND_TO_NEAREST, "it does not round to nearest"},
        {CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
         "it does not round division and square root correctly"},
    };
    const uint64_t has = number_of(cl, device, CL_DEVICE_SINGLE_FP_CONFIG);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if ((has & needs[i].bit) == 0)
            return needs[i].lack;
    if ((number_of(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) & CL_FP_ROUND_TO_NEAREST) == 0)
        return "it has no double precision"; /* for norms */
    return NULL;
}

static void describe(sh_gpu_description *out, const opencl_calls *cl, cl_device_id device)
{
    char version[64];
    text_of(version, sizeof version, cl, device, CL_DEVICE_VERSION);
    const char *lack = what_lacks(cl, device, version);
    *out = (sh_gpu_description){
        .driver = "opencl",
        .memory = number_of(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE),
        .vendor = (uint32_t)number_of(cl, device, CL_DEVICE_VENDOR_ID),
        .units = (uint32_t)number_of(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS),
        .group_items = (uint32_t)number_of(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE),
        .group_bytes = (uint32_t)number_of(cl, device, CL_DEVICE_LOCAL_MEM_SIZE),
        .unified = number_of(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
        .processor = (number_of(cl, device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0,
        .usable = lack == NULL,
    };
    text_of(out->name, sizeof out->name, cl, device, CL_DEVICE_NAME);
    text_of(out->version, sizeof out->version, cl, device, CL_DRIVER_VERSION);
    snprintf(out->why_not, sizeof out->why_not, "%s", lack == NULL ? "" : lack);
}

static sh_status list_gpus(sh_gpu_description *list, uint32_t max, uint32_t *count)
{
    opencl_calls cl;
    cl_device_id devices[DEVICES_MAX];
    uint32_t found;
    SH_TRY(sh_opencl_load(&cl));
    SH_TRY(find_devices(&cl, devices, &found));
    *count = found < max ? found : max;
    for (uint32_t i = 0; i < *count; i++)
        describe(&list[i], &cl, devices[i]);
    return SH_OK;
}

/* A GPU */

static void close_gpu(sh_gpu *base)
{
    opencl_gpu *gpu = gpu_of(base);
    if (gpu->queue != NULL)
        gpu->cl.clReleaseCommandQueue(gpu->queue);
    if (gpu->context != NULL)
        gpu->cl.clReleaseContext(gpu->context);
    free(gpu);
}

static sh_status open_parts(opencl_gpu *gpu, uint32_t index)
{
    cl_device_id devices[DEVICES_MAX];
    uint32_t count;
    cl_int error;
    SH_TRY(sh_opencl_load(&gpu->cl));
    SH_TRY(find_devices(&gpu->cl, devices, &count));
    if (index >= count)
        return sh_fail(SH_NOT_FOUND, "the GPU disappeared");
    gpu->device = devices[index];
    describe(&gpu->base.description, &gpu->cl, gpu->device);
    gpu->context = gpu->cl.clCreateContext(NULL, 1, &gpu->device, NULL, NULL, &error);
    SH_TRY(judge(gpu, error, "opening it"));
    gpu->queue = gpu->cl.clCreateCommandQueue(gpu->context, gpu->device, 0, &error);
    return judge(gpu, error, "opening its queue");
}

static sh_status open_gpu(sh_gpu **out, uint32_t index)
{
    void *block;
    SH_TRY(sh_block_new(&block, sizeof(opencl_gpu), "a GPU"));
    opencl_gpu *gpu = block;
    const sh_status status = open_parts(gpu, index);
    if (status != SH_OK)
        close_gpu(&gpu->base);
    else
        *out = &gpu->base;
    return status;
}

/* Programs and kernels */

static sh_status fail_build(const opencl_gpu *gpu, cl_program program)
{
    char log[640] = "";
    char *whole;
    size_t bytes = 0;
    gpu->cl.clGetProgramBuildInfo(program, gpu->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    whole = calloc(1, bytes + 1);
    if (whole != NULL) {
        gpu->cl.clGetProgramBuildInfo(program, gpu->device, CL_PROGRAM_BUILD_LOG, bytes, whole,
                                      NULL);
        snprintf(log, sizeof log, "%.*s", (int)sizeof log - 1, whole);
        free(whole);
    }
    for (char *c = log; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return sh_fail(SH_FORMAT, "GPU %s: its compiler refuses the kernels: %s",
                   gpu->base.description.name, log);
}

static void free_module(sh_gpu_module *base)
{
    opencl_module *module = (opencl_module *)(void *)base;
    const opencl_calls *cl = &gpu_of(base->gpu)->cl;
    if (module->program != NULL)
        cl->clReleaseProgram(module->program);
    free(module);
}

static sh_status build(opencl_module *module, const char *text)
{
    const opencl_gpu *gpu = gpu_of(module->base.gpu);
    const char *parts[] = {first_line, text};
    cl_int error;
    module->program = gpu->cl.clCreateProgramWithSource(gpu->context, 2, parts, NULL, &error);
    SH_TRY(judge(gpu, error, "reading its kernels"));
    error = gpu->cl.clBuildProgram(module->program, 1, &gpu->device, build_options, NULL, NULL);
    if (error == CL_BUILD_PROGRAM_FAILURE)
        return fail_build(gpu, module->program);
    return judge(gpu, error, "compiling its kernels");
}

static sh_status new_module(sh_gpu_module **out, sh_gpu *gpu, const sh_gpu_source *source)
{
    void *block;
    if (source->opencl == NULL)
        return sh_fail(SH_UNSUPPORTED, "GPU %s: this build has no kernels for OpenCL",
                       gpu->description.name);
    SH_TRY(sh_block_new(&block, sizeof(opencl_module), "kernels of a GPU"));
    opencl_module *module = block;
    module->base.gpu = gpu;
    const sh_status status = build(module, source->opencl);
    if (status != SH_OK)
        free_module(&module->base);
    else
        *out = &module->base;
    return status;
}

static void free_kernel(sh_gpu_kernel *base)
{
    const opencl_kernel *kernel = (const opencl_kernel *)(const void *)base;
    if (kernel->handle != NULL)
        gpu_of(base->gpu)->cl.clReleaseKernel(kernel->handle);
    free(base);
}

static sh_status make_kernel(opencl_kernel *kernel, const opencl_module *module, const char *name)
{
    const opencl_gpu *gpu = gpu_of(module->base.gpu);
    cl_int error;
    kernel->handle = gpu->cl.clCreateKernel(module->program, name, &error);
    if (error == CL_INVALID_KERNEL_NAME)
        return sh_fail(SH_NOT_FOUND, "GPU %s: has no kernel '%s'", gpu->base.description.name,
                       name);
    SH_TRY(judge(gpu, error, name));
    size_t items = 0;
    error = gpu->cl.clGetKernelWorkGroupInfo(kernel->handle, gpu->device, CL_KERNEL_WORK_GROUP_SIZE,
                                             sizeof items, &items, NULL);
    kernel->base.items = (uint32_t)items;
    return judge(gpu, error, name);
}

static sh_status new_kernel(sh_gpu_kernel **out, sh_gpu_module *base, const char *name)
{
    void *block;
    SH_TRY(sh_block_new(&block, sizeof(opencl_kernel), "a kernel of a GPU"));
    opencl_kernel *kernel = block;
    kernel->base.gpu = base->gpu;
    const sh_status status = make_kernel(kernel, (opencl_module *)(void *)base, name);
    if (status != SH_OK)
        free_kernel(&kernel->base);
    else
        *out = &kernel->base;
    return status;
}

/* Memory */

static void free_memory(sh_gpu_memory *base)
{
    opencl_memory *memory = (opencl_memory *)(void *)base;
    const opencl_calls *cl = &gpu_of(base->gpu)->cl;
    for (size_t i = 0; i < memory->places; i++)
        if (memory->parts[i].handle != NULL)
            cl->clReleaseMemObject(memory->parts[i].handle);
    free(memory->parts);
    if (memory->buffer != NULL)
        cl->clReleaseMemObject(memory->buffer);
    free(memory);
}

/* Migration allocates the buffer now instead of at its first use, so lack of memory shows here. */
static sh_status allocate(opencl_memory *memory, size_t bytes)
{
    const opencl_gpu *gpu = gpu_of(memory->base.gpu);
    char doing[64];
    cl_int error;
    snprintf(doing, sizeof doing, "allocating %.1f MB of its memory", (double)bytes / 1e6);
    memory->buffer = gpu->cl.clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, bytes == 0 ? 4 : bytes,
                                            NULL, &error);
    SH_TRY(judge(gpu, error, doing));
    error = gpu->cl.clEnqueueMigrateMemObjects(
        gpu->queue, 1, &memory->buffer, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0, NULL, NULL);
    return judge(gpu, error, doing);
}

static sh_status new_memory(sh_gpu_memory **out, sh_gpu *gpu, size_t bytes)
{
    void *block;
    SH_TRY(sh_block_new(&block, sizeof(opencl_memory), "a GPU's memory"));
    opencl_memory *memory = block;
    memory->base.gpu = gpu;
    const sh_status status = allocate(memory, bytes);
    if (status != SH_OK)
        free_memory(&memory->base);
    else
        *out = &memory->base;
    return status;
}

/* Returns the range's sub-buffer, or the free place for it. */
static sub_buffer *place_of(sub_buffer *parts, size_t places, size_t offset, size_t bytes)
{
    size_t at = (offset / SH_GPU_ALIGNMENT * 31 + bytes / 4) * 2654435761u;
    for (;; at++) {
        sub_buffer *part = &parts[at & (places - 1)];
        if (part->handle == NULL || (part->offset == offset && part->bytes == bytes))
            return part;
    }
}

static sh_status make_room(opencl_memory *memory)
{
    if (2 * (memory->part_count + 1) <= memory->places)
        return SH_OK;
    const size_t places = memory->places == 0 ? 64 : 2 * memory->places;
    void *block;
    SH_TRY(sh_block_new(&block, places * sizeof(sub_buffer), "ranges of a GPU's memory"));
    sub_buffer *parts = block;
    for (size_t i = 0; i < memory->places; i++)
        if (memory->parts[i].handle != NULL)
            *place_of(parts, places, memory->parts[i].offset, memory->parts[i].bytes) =
                memory->parts[i];
    free(memory->parts);
    memory->parts = parts;
    memory->places = places;
    return SH_OK;
}

static sh_status find_buffer(cl_mem *buffer, sh_gpu_range range)
{
    opencl_memory *memory = (opencl_memory *)(void *)range.memory;
    if (range.offset == 0 && range.bytes == memory->base.bytes) {
        *buffer = memory->buffer;
        return SH_OK;
    }
    SH_TRY(make_room(memory));
    sub_buffer *part = place_of(memory->parts, memory->places, range.offset, range.bytes);
    if (part->handle == NULL) {
        const opencl_gpu *gpu = gpu_of(memory->base.gpu);
        const cl_buffer_region region = {range.offset, range.bytes};
        cl_int error;
        cl_mem handle = gpu->cl.clCreateSubBuffer(memory->buffer, CL_MEM_READ_WRITE,
                                                  CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
        SH_TRY(judge(gpu, error, "passing a memory range to a kernel"));
        *part = (sub_buffer){range.offset, range.bytes, handle};
        memory->part_count++;
    }
    *buffer = part->handle;
    return SH_OK;
}

/* Work */

static sh_status write_range(sh_gpu_range range, const void *host)
{
    const opencl_gpu *gpu = gpu_of(range.memory->gpu);
    const opencl_memory *memory = (const opencl_memory *)(const void *)range.memory;
    return judge(gpu,
                 gpu->cl.clEnqueueWriteBuffer(gpu->queue, memory->buffer, 0, range.offset,
                                              range.bytes, host, 0, NULL, NULL),
                 "writing to it");
}

static sh_status read_range(void *host, sh_gpu_range range)
{
    const opencl_gpu *gpu = gpu_of(range.memory->gpu);
    const opencl_memory *memory = (const opencl_memory *)(const void *)range.memory;
    return judge(gpu,
                 gpu->cl.clEnqueueReadBuffer(gpu->queue, memory->buffer, 0, range.offset,
                                             range.bytes, host, 0, NULL, NULL),
                 "reading from it");
}

static sh_status clear_range(sh_gpu_range range)
{
    const opencl_gpu *gpu = gpu_of(range.memory->gpu);
    const opencl_memory *memory = (const opencl_memory *)(const void *)range.memory;
    static const uint32_t zero = 0;
    return judge(gpu,
                 gpu->cl.clEnqueueFillBuffer(gpu->queue, memory->buffer, &zero, sizeof zero,
                                             range.offset, range.bytes, 0, NULL, NULL),
                 "clearing its memory");
}

static sh_status set_argument(const opencl_gpu *gpu, const opencl_kernel *kernel, uint32_t index,
                              const sh_gpu_argument *argument)
{
    cl_mem buffer = NULL;
    if (argument->kind != SH_GPU_POINTER) {
        size_t bytes;
        const void *value = sh_gpu_argument_value(argument, &bytes);
        return judge(gpu, gpu->cl.clSetKernelArg(kernel->handle, index, bytes, value),
                     kernel->base.name);
    }
    if (argument->range.memory != NULL && argument->range.bytes != 0)
        SH_TRY(find_buffer(&buffer, argument->range));
    return judge(gpu, gpu->cl.clSetKernelArg(kernel->handle, index, sizeof buffer, &buffer),
                 kernel->base.name);
}

static sh_status launch(sh_gpu_kernel *base, const uint32_t grid[3], const uint32_t group[3],
                        const sh_gpu_argument *arguments, uint32_t count)
{
    const opencl_kernel *kernel = (const opencl_kernel *)(const void *)base;
    const opencl_gpu *gpu = gpu_of(base->gpu);
    size_t items[3], group_items[3];
    for (uint32_t i = 0; i < count; i++)
        SH_TRY(set_argument(gpu, kernel, i, &arguments[i]));
    for (int i = 0; i < 3; i++) {
        group_items[i] = group[i];
        items[i] = (size_t)grid[i] * group[i];
    }
    return judge(gpu,
                 gpu->cl.clEnqueueNDRangeKernel(gpu->queue, kernel->handle, 3, NULL, items,
                                                group_items, 0, NULL, NULL),
                 kernel->base.name);
}

static sh_status finish(sh_gpu *base)
{
    const opencl_gpu *gpu = gpu_of(base);
    return judge(gpu, gpu->cl.clFinish(gpu->queue), "computing");
}

const sh_gpu_driver *sh_gpu_opencl(void)
{
    static const sh_gpu_driver driver = {
        .name = "OpenCL",
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
