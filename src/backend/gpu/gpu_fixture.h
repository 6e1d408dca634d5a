/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU for tests: the first usable one; without a real one, PoCL. Put GPU_FIXTURE before the
 * tests, and need_gpu() into each test.
 *
 *     GPU_FIXTURE                               // before the tests
 *     need_gpu();                               // in each test: skips it without a GPU
 *     return cmocka_run_group_tests(tests, open_any_gpu, close_gpu);
 */
#ifndef SHOAL_BACKEND_GPU_GPU_FIXTURE_H
#define SHOAL_BACKEND_GPU_GPU_FIXTURE_H

#include "backend/gpu/gpu_program.h"
#include "base/test.h"

static sh_gpu *gpu;
static sh_gpu_kernels *gpu_kernels;

static int open_any_gpu(void **state)
{
    (void)state;
    const uint32_t count = sh_gpu_count();
    for (uint32_t i = 0; i < count && gpu == NULL; i++) {
        sh_gpu_description about;
        if (sh_gpu_describe(&about, i) == SH_OK && about.usable) {
            assert_ok(sh_gpu_open(&gpu, i));
            print_message("computes on %s (%s %s)\n", about.name, about.driver, about.version);
        }
    }
    if (gpu != NULL)
        assert_ok(sh_gpu_kernels_new(&gpu_kernels, gpu));
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    sh_gpu_kernels_free(gpu_kernels);
    sh_gpu_close(gpu);
    return 0;
}

static void need_gpu(void)
{
    if (gpu == NULL)
        skip_because("no GPU and no OpenCL device: apt-get install pocl-opencl-icd");
}

#endif
