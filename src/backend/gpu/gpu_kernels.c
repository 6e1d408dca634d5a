/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/gpu/gpu_kernels.h"

#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#define GZIP 16

struct sh_gpu_kernels {
    sh_gpu *gpu;
    sh_gpu_module *module;
    uint32_t tile;
};

/* `*text` is owned and zero-terminated. */
static sh_status unpack(char **text, const sh_gpu_packed *packed)
{
    const unsigned char *end = packed->data + packed->bytes;
    /* gzip ends with the size of the text. */
    const size_t bytes = end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16;
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)packed->data,
                       .avail_in = (uInt)packed->bytes};
    char *made = malloc(bytes + 1);
    if (made == NULL)
        return sh_fail_memory(bytes + 1, "the kernels of a GPU");
    stream.next_out = (unsigned char *)made;
    stream.avail_out = (uInt)bytes;
    int code = inflateInit2(&stream, MAX_WBITS + GZIP);
    if (code == Z_OK) {
        code = inflate(&stream, Z_FINISH);
        inflateEnd(&stream);
    }
    if (code != Z_STREAM_END || stream.avail_out > 0) {
        free(made);
        return sh_fail(SH_INTERNAL, "the kernels of a GPU cannot be unpacked: zlib says %d", code);
    }
    made[bytes] = '\0';
    *text = made;
    return SH_OK;
}

static sh_status compile(sh_gpu_module **module, sh_gpu *gpu)
{
    char *opencl, *ptx;
    SH_TRY(unpack(&opencl, &sh_gpu_kernels_opencl));
    const sh_status unpacked = unpack(&ptx, &sh_gpu_kernels_ptx);
    if (unpacked != SH_OK) {
        free(opencl);
        return unpacked;
    }
    const sh_status status =
        sh_gpu_module_new(module, gpu, &(sh_gpu_source){opencl, ptx[0] != '\0' ? ptx : NULL});
    free(opencl);
    free(ptx);
    return status;
}

sh_status sh_gpu_kernels_new(sh_gpu_kernels **kernels, sh_gpu *gpu)
{
    sh_gpu_kernels *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sh_fail_memory(sizeof *made, "the kernels of a GPU");
    made->gpu = gpu;
    made->tile = SH_GPU_BEST_TILE;
    const sh_status status = compile(&made->module, gpu);
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
    const int length = snprintf(symbol, sizeof symbol, "gpu_%s", name); /* not OpenCL's names */
    if (length < 0 || (size_t)length >= sizeof symbol)
        return sh_fail(SH_INVALID, "the kernel '%s': its name is too long", name);
    return sh_gpu_kernel_get(kernel, kernels->module, symbol);
}

sh_gpu *sh_gpu_kernels_device(const sh_gpu_kernels *kernels)
{
    return kernels->gpu;
}

void sh_gpu_kernels_force_tile(sh_gpu_kernels *kernels, uint32_t tile)
{
    kernels->tile = tile;
}

uint32_t sh_gpu_kernels_tile(const sh_gpu_kernels *kernels)
{
    return kernels->tile;
}
