/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/device.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gpu/devices.h"
#include "gpu/driver.h"

sh_status sh_gpu_open(sh_gpu **gpu, uint32_t number)
{
    sh_gpu_place place;
    SH_TRY(sh_gpu_find(&place, number));
    if (!place.description.usable)
        return sh_fail(SH_UNSUPPORTED, "GPU %u, %s, is not used: %s", number,
                       place.description.name, place.description.why_not);
    SH_TRY(place.driver->open(gpu, place.index));
    (*gpu)->driver = place.driver;
    (*gpu)->description = place.description;
    return SH_OK;
}

void sh_gpu_close(sh_gpu *gpu)
{
    if (gpu != NULL)
        gpu->driver->close(gpu);
}

const sh_gpu_description *sh_gpu_describe_open(const sh_gpu *gpu)
{
    return &gpu->description;
}

sh_status sh_gpu_module_new(sh_gpu_module **module, sh_gpu *gpu, const sh_gpu_source *source)
{
    SH_TRY(gpu->driver->module_new(module, gpu, source));
    (*module)->gpu = gpu;
    return SH_OK;
}

void sh_gpu_module_free(sh_gpu_module *module)
{
    if (module == NULL)
        return;
    const sh_gpu_driver *driver = module->gpu->driver;
    while (module->kernels != NULL) {
        sh_gpu_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        driver->kernel_free(kernel);
    }
    driver->module_free(module);
}

sh_status sh_gpu_kernel_get(sh_gpu_kernel **kernel, sh_gpu_module *module, const char *name)
{
    for (sh_gpu_kernel *each = module->kernels; each != NULL; each = each->next)
        if (strcmp(each->name, name) == 0) {
            *kernel = each;
            return SH_OK;
        }
    sh_gpu_kernel *made;
    assert(strlen(name) < sizeof made->name);
    SH_TRY(module->gpu->driver->kernel_new(&made, module, name));
    snprintf(made->name, sizeof made->name, "%s", name);
    made->gpu = module->gpu;
    made->next = module->kernels;
    module->kernels = made;
    *kernel = made;
    return SH_OK;
}

uint32_t sh_gpu_kernel_items(const sh_gpu_kernel *kernel)
{
    return kernel->items;
}

sh_status sh_gpu_memory_new(sh_gpu_memory **memory, sh_gpu *gpu, size_t bytes)
{
    SH_TRY(gpu->driver->memory_new(memory, gpu, bytes));
    (*memory)->gpu = gpu;
    (*memory)->bytes = bytes;
    return SH_OK;
}

void sh_gpu_memory_free(sh_gpu_memory *memory)
{
    if (memory != NULL)
        memory->gpu->driver->memory_free(memory);
}

static void check_range(sh_gpu_range range)
{
    assert(range.offset % SH_GPU_ALIGNMENT == 0 && range.offset <= range.memory->bytes &&
           range.bytes <= range.memory->bytes - range.offset);
    (void)range;
}

sh_status sh_gpu_write(sh_gpu_range range, const void *host)
{
    check_range(range);
    return range.bytes == 0 ? SH_OK : range.memory->gpu->driver->write(range, host);
}

sh_status sh_gpu_read(void *host, sh_gpu_range range)
{
    check_range(range);
    return range.bytes == 0 ? SH_OK : range.memory->gpu->driver->read(host, range);
}

sh_status sh_gpu_clear(sh_gpu_range range)
{
    check_range(range);
    assert(range.bytes % 4 == 0);
    return range.bytes == 0 ? SH_OK : range.memory->gpu->driver->clear(range);
}

sh_status sh_gpu_launch(sh_gpu_kernel *kernel, const uint32_t grid[3], const uint32_t group[3],
                        const sh_gpu_argument *arguments, uint32_t count)
{
    assert(count <= SH_GPU_ARGUMENTS_MAX);
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || group[i] == 0)
            return SH_OK;
    assert(grid[1] <= UINT16_MAX && grid[2] <= UINT16_MAX);
    assert((uint64_t)group[0] * group[1] * group[2] <= kernel->items);
    for (uint32_t i = 0; i < count; i++)
        if (arguments[i].kind == SH_GPU_POINTER && arguments[i].range.memory != NULL)
            check_range(arguments[i].range);
    return kernel->gpu->driver->launch(kernel, grid, group, arguments, count);
}

sh_status sh_gpu_finish(sh_gpu *gpu)
{
    return gpu->driver->finish(gpu);
}
