/* SPDX-License-Identifier: Apache-2.0 */
/* test/gpu/fake_cuda.c replaces NVIDIA's driver. */
#include <dlfcn.h>

#include "base/test.h"
#include "gpu/device.h"
#include "gpu/fake_cuda.h"

static const char ptx[] = ".version 7.0";
static fake_cuda *fake;

static void load_fake(void)
{
    void *library = dlopen(FAKE_CUDA, RTLD_NOW);
    if (library == NULL)
        fail_msg("%s", dlerror());
    fake = dlsym(library, "fake_cuda_state");
    assert_non_null(fake);
}

static int prepare(void **state)
{
    (void)state;
    if (fake == NULL)
        load_fake();
    *fake = (fake_cuda){.devices = 2, .capability = 72, .version = 12020, .memory = 1 << 20};
    return 0;
}

static int look_after(void **state)
{
    (void)state;
    return fake->contexts + fake->streams + fake->modules + fake->outside + (int)fake->used;
}

static void without_a_driver_there_is_none(void **state)
{
    (void)state;
    void *real = dlopen("libcuda.so.1", RTLD_NOW);
    if (real != NULL) {
        dlclose(real);
        skip_because("this machine has NVIDIA's driver");
    }
    sh_gpu_description about;
    assert_fails(sh_gpu_describe(&about, SH_GPU_MAX), SH_NOT_FOUND,
                 "CUDA: the library libcuda.so.1 is missing");
}

static void gpus_are_described(void **state)
{
    (void)state;
    sh_gpu_description about;
    assert_true(sh_gpu_count() >= 2);
    assert_ok(sh_gpu_describe(&about, 1));
    assert_string_equal(about.name, "Fake 11");
    assert_string_equal(about.driver, "cuda");
    assert_string_equal(about.version, "CUDA 12.2");
    assert_int_equal(about.memory, 1 << 20);
    assert_int_equal(about.units, 8);
    assert_int_equal(about.group_items, 1024);
    assert_int_equal(about.group_bytes, 49152);
    assert_int_equal(about.vendor, 0x10de);
    assert_true(about.unified && !about.processor && about.usable);
}

static void what_a_gpu_lacks_is_said(void **state)
{
    (void)state;
    static const struct {
        int capability, version, compute_mode;
        const char *why_not;
    } cases[] = {
        {61, 12020, 0, "its compute capability is 6.1, but 7.0 is needed"},
        {72, 10020, 0, "its driver is for CUDA 10.2, but CUDA 11.0 is needed: update it"},
        {90, 13000, 2, "its compute mode prohibits it: nvidia-smi -c DEFAULT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_gpu_description about;
        sh_gpu *gpu = NULL;
        fake->capability = cases[i].capability;
        fake->version = cases[i].version;
        fake->compute_mode = cases[i].compute_mode;
        assert_ok(sh_gpu_describe(&about, 0));
        assert_false(about.usable);
        assert_string_equal(about.why_not, cases[i].why_not);
        assert_fails(sh_gpu_open(&gpu, 0), SH_UNSUPPORTED, cases[i].why_not);
        assert_null(gpu);
    }
}

static void a_driver_that_fails_says_why(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *part;
    } cases[] = {
        {100, "the driver finds no GPU; CUDA error 100, NO_DEVICE"},
        {803, "are of different versions: restart after an update"},
        {34, "the build stub, not the driver's"},
        {304, "the system refuses a request of the driver"},
        {802, "is nvidia-fabricmanager running?"},
        {12345, "CUDA error 12345"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_gpu_description about;
        fake->failing = "cuInit";
        fake->error = cases[i].error;
        assert_fails(sh_gpu_describe(&about, SH_GPU_MAX), SH_NOT_FOUND, cases[i].part);
        assert_non_null(strstr(sh_message(), "NVIDIA's driver: its start failed"));
    }
    fake->failing = NULL;
    fake->devices = 0;
    sh_gpu_description about;
    assert_fails(sh_gpu_describe(&about, SH_GPU_MAX), SH_NOT_FOUND, "CUDA: the driver has no GPU");
}

static void work_is_done(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    float x[COUNT], y[COUNT], got[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 0.5F;
    }
    sh_gpu *gpu;
    sh_gpu_module *module;
    sh_gpu_kernel *kernel, *again;
    sh_gpu_memory *memory;
    assert_ok(sh_gpu_open(&gpu, 0));
    assert_ok(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.ptx = ptx}));
    assert_ok(sh_gpu_kernel_get(&kernel, module, "add_scaled"));
    assert_ok(sh_gpu_kernel_get(&again, module, "add_scaled"));
    assert_ptr_equal(again, kernel);
    assert_int_equal(sh_gpu_kernel_items(kernel), 256);
    assert_ok(sh_gpu_memory_new(&memory, gpu, 2 * SH_GPU_ALIGNMENT));
    const sh_gpu_range x_range = {memory, SH_GPU_ALIGNMENT, sizeof x};
    const sh_gpu_range y_range = {memory, 0, sizeof y};
    assert_ok(sh_gpu_write(x_range, x));
    assert_ok(sh_gpu_write(y_range, y));
    assert_ok(sh_gpu_clear((sh_gpu_range){memory, 0, 8}));
    assert_ok(sh_gpu_launch(kernel, (uint32_t[]){2, 1, 2}, (uint32_t[]){4, 2, 2},
                            (sh_gpu_argument[]){sh_gpu_pointer(y_range), sh_gpu_pointer(x_range),
                                                sh_gpu_f32(3), sh_gpu_u32(COUNT)},
                            4));
    assert_ok(sh_gpu_launch(kernel, (uint32_t[]){1, 1, 1}, (uint32_t[]){1, 1, 1},
                            (sh_gpu_argument[]){sh_gpu_pointer(y_range),
                                                sh_gpu_pointer((sh_gpu_range){0}), sh_gpu_f32(8),
                                                sh_gpu_u32(1)},
                            4));
    assert_ok(sh_gpu_read(got, y_range));
    assert_ok(sh_gpu_finish(gpu));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(got[i] == (i == 0  ? 8.0F
                               : i < 2 ? 3.0F * (float)i
                                       : 0.5F + (i < 64 ? 3.0F * (float)i : 0.0F)));
    sh_gpu_memory_free(memory);
    sh_gpu_module_free(module);
    sh_gpu_close(gpu);
}

static void what_opening_fails_at_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        int error;
        sh_status status;
        const char *part;
    } cases[] = {
        {"cuDevicePrimaryCtxRetain", 2, SH_NO_MEMORY,
         "GPU Fake 10: opening it failed: its memory is exhausted; CUDA error 2, OUT_OF_MEMORY"},
        {"cuDevicePrimaryCtxRetain", 800, SH_PERMISSION, "this user has no permission to use it"},
        {"cuDevicePrimaryCtxRetain", 46, SH_IO, "another process uses it exclusively"},
        {"cuStreamCreate", 999, SH_IO, "opening its queue failed: the driver gives no reason"},
        {"cuDeviceGet", 101, SH_UNSUPPORTED,
         "GPU 0, of NVIDIA, is not used: NVIDIA's driver: finding it failed: CUDA error 101"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_gpu *gpu = NULL;
        fake->failing = cases[i].call;
        fake->error = cases[i].error;
        assert_fails(sh_gpu_open(&gpu, 0), cases[i].status, cases[i].part);
        assert_null(gpu);
        assert_int_equal(fake->contexts, 0);
    }
}

static void kernels_that_do_not_compile_are_told(void **state)
{
    (void)state;
    sh_gpu *gpu;
    sh_gpu_module *module = NULL;
    assert_ok(sh_gpu_open(&gpu, 0));
    assert_fails(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.ptx = "nonsense"}), SH_FORMAT,
                 "GPU Fake 10: its compiler refuses the kernels: ptxas: line 1; no version");
    assert_fails(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.opencl = "only"}),
                 SH_UNSUPPORTED, "this build has no kernels for CUDA");
    fake->failing = "cuModuleLoadDataEx";
    fake->error = 222;
    assert_fails(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.ptx = ptx}), SH_VERSION,
                 "the driver is too old for the kernels: update it");
    fake->error = 221;
    assert_fails(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.ptx = ptx}), SH_UNSUPPORTED,
                 "the driver's compiler is missing");
    assert_null(module);
    sh_gpu_close(gpu);
}

static void what_fails_at_work_is_told(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *part;
    } losses[] = {
        {700, "GPU Fake 10: computing failed: a kernel accessed invalid memory; this process can "
              "no longer use the GPU"},
        {702, "a kernel took too long; this process can no longer use the GPU"},
        {719, "a kernel failed; this process can no longer use the GPU"},
        {214, "its memory has an uncorrectable error"},
    };
    sh_gpu *gpu;
    sh_gpu_module *module;
    sh_gpu_kernel *kernel = NULL;
    sh_gpu_memory *memory, *more = NULL;
    assert_ok(sh_gpu_open(&gpu, 0));
    assert_ok(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.ptx = ptx}));
    assert_fails(sh_gpu_kernel_get(&kernel, module, "subtract"), SH_NOT_FOUND,
                 "has no kernel 'subtract'");
    assert_null(kernel);
    assert_ok(sh_gpu_kernel_get(&kernel, module, "add_scaled"));
    assert_ok(sh_gpu_memory_new(&memory, gpu, 1 << 19));
    assert_fails(sh_gpu_memory_new(&more, gpu, (1 << 19) + 1), SH_NO_MEMORY,
                 "allocating 0.5 MB of its memory failed: its memory is exhausted");
    assert_null(more);
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        fake->failing = "cuStreamSynchronize";
        fake->error = losses[i].error;
        assert_fails(sh_gpu_finish(gpu), SH_IO, losses[i].part);
    }
    fake->failing = "cuLaunchKernel";
    fake->error = 701;
    const sh_gpu_range all = {memory, 0, 4};
    assert_fails(sh_gpu_launch(kernel, (uint32_t[]){1, 1, 1}, (uint32_t[]){1, 1, 1},
                               (sh_gpu_argument[]){sh_gpu_pointer(all), sh_gpu_pointer(all),
                                                   sh_gpu_f32(0), sh_gpu_u32(0)},
                               4),
                 SH_IO, "add_scaled failed: a kernel needs more resources than it has");
    fake->failing = NULL;
    sh_gpu_memory_free(memory);
    sh_gpu_module_free(module);
    sh_gpu_close(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_there_is_none),
        cmocka_unit_test_setup_teardown(gpus_are_described, prepare, look_after),
        cmocka_unit_test_setup_teardown(what_a_gpu_lacks_is_said, prepare, look_after),
        cmocka_unit_test_setup_teardown(a_driver_that_fails_says_why, prepare, look_after),
        cmocka_unit_test_setup_teardown(work_is_done, prepare, look_after),
        cmocka_unit_test_setup_teardown(what_opening_fails_at_is_told, prepare, look_after),
        cmocka_unit_test_setup_teardown(kernels_that_do_not_compile_are_told, prepare, look_after),
        cmocka_unit_test_setup_teardown(what_fails_at_work_is_told, prepare, look_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
