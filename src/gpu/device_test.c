/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/device.h"

#include "base/test.h"

static const char text[] =
    "__kernel void add_scaled(__global float *y, __global const float *x, float a, uint count) {\n"
    "    const uint i = get_global_id(0);\n"
    "    if (i < count)\n"
    "        y[i] = fma(a, x[i], y[i]);\n"
    "}\n"
    "__kernel void place_of(__global uint *out, ulong step) {\n"
    "    const uint group = get_group_id(0) + 2 * (get_group_id(1) + 3 * get_group_id(2));\n"
    "    const uint item = get_local_id(0) + 2 * (get_local_id(1) + 2 * get_local_id(2));\n"
    "    out[group * 4 + item] = (uint)(step >> 32) + group * 100 + item;\n"
    "}\n"
    "__kernel void is_null(__global uint *out, __global const uint *maybe) {\n"
    "    out[0] = maybe == 0 ? 7 : maybe[0];\n"
    "}\n";

static sh_gpu *gpu;
static sh_gpu_module *module;

static int open_any(void **state)
{
    (void)state;
    const uint32_t count = sh_gpu_count();
    for (uint32_t i = 0; i < count && gpu == NULL; i++) {
        sh_gpu_description about;
        if (sh_gpu_describe(&about, i) == SH_OK && about.usable &&
            strcmp(about.driver, "opencl") == 0)
            assert_ok(sh_gpu_open(&gpu, i));
    }
    if (gpu != NULL)
        assert_ok(sh_gpu_module_new(&module, gpu, &(sh_gpu_source){.opencl = text}));
    return 0;
}

static int close_it(void **state)
{
    (void)state;
    sh_gpu_module_free(module);
    sh_gpu_close(gpu);
    return 0;
}

static void need_gpu(void)
{
    if (gpu == NULL)
        skip_because("no OpenCL device: apt-get install pocl-opencl-icd");
}

static void numbers_end(void **state)
{
    (void)state;
    sh_gpu_description about;
    sh_gpu *none = NULL;
    assert_fails(sh_gpu_describe(&about, SH_GPU_MAX), SH_NOT_FOUND, "GPU");
    assert_fails(sh_gpu_open(&none, SH_GPU_MAX), SH_NOT_FOUND, "GPU");
    assert_null(none);
}

static void a_gpu_says_what_it_is(void **state)
{
    (void)state;
    need_gpu();
    const sh_gpu_description *about = sh_gpu_describe_open(gpu);
    assert_true(about->usable);
    assert_string_equal(about->why_not, "");
    assert_true(about->name[0] != '\0' && about->version[0] != '\0');
    assert_true(about->memory > 0 && about->units > 0);
    assert_true(about->group_items >= 64 && about->group_bytes >= 16384);
}

static void a_kernel_reads_and_writes_ranges(void **state)
{
    (void)state;
    need_gpu();
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT], got[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 0.5F * (float)i;
    }
    sh_gpu_memory *memory;
    sh_gpu_kernel *kernel;
    assert_ok(sh_gpu_memory_new(&memory, gpu, 3 * SH_GPU_ALIGNMENT));
    assert_ok(sh_gpu_kernel_get(&kernel, module, "add_scaled"));
    const sh_gpu_range x_range = {memory, 0, sizeof x};
    const sh_gpu_range y_range = {memory, 2 * SH_GPU_ALIGNMENT, sizeof y};
    assert_ok(sh_gpu_write(x_range, x));
    assert_ok(sh_gpu_write(y_range, y));
    for (int times = 0; times < 2; times++)
        assert_ok(
            sh_gpu_launch(kernel, (uint32_t[]){(COUNT + 63) / 64, 1, 1}, (uint32_t[]){64, 1, 1},
                          (sh_gpu_argument[]){sh_gpu_pointer(y_range), sh_gpu_pointer(x_range),
                                              sh_gpu_f32(2), sh_gpu_u32(COUNT)},
                          4));
    assert_ok(sh_gpu_read(got, y_range));
    assert_ok(sh_gpu_finish(gpu));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true(got[i] == 4.5F * (float)i);
    sh_gpu_memory_free(memory);
}

static void many_ranges_are_told_apart(void **state)
{
    (void)state;
    need_gpu();
    enum { COUNT = 200 };
    uint32_t got;
    sh_gpu_memory *memory;
    sh_gpu_kernel *kernel;
    assert_ok(sh_gpu_memory_new(&memory, gpu, COUNT * SH_GPU_ALIGNMENT));
    assert_ok(sh_gpu_kernel_get(&kernel, module, "is_null"));
    uint32_t values[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = i * i;
        assert_ok(sh_gpu_write((sh_gpu_range){memory, i * SH_GPU_ALIGNMENT, 4}, &values[i]));
    }
    for (uint32_t i = 0; i + 1 < COUNT; i++)
        assert_ok(sh_gpu_launch(
            kernel, (uint32_t[]){1, 1, 1}, (uint32_t[]){1, 1, 1},
            (sh_gpu_argument[]){
                sh_gpu_pointer((sh_gpu_range){memory, i * SH_GPU_ALIGNMENT, 4}),
                sh_gpu_pointer((sh_gpu_range){memory, (i + 1) * SH_GPU_ALIGNMENT, 4 + i % 2 * 4})},
            2));
    for (uint32_t i = 0; i + 1 < COUNT; i++) {
        assert_ok(sh_gpu_read(&got, (sh_gpu_range){memory, i * SH_GPU_ALIGNMENT, 4}));
        assert_ok(sh_gpu_finish(gpu));
        assert_int_equal(got, (i + 1) * (i + 1));
    }
    sh_gpu_memory_free(memory);
}

static void groups_and_items_have_three_sides(void **state)
{
    (void)state;
    need_gpu();
    uint32_t got[2 * 3 * 2 * 4];
    sh_gpu_memory *memory;
    sh_gpu_kernel *kernel;
    assert_ok(sh_gpu_memory_new(&memory, gpu, sizeof got));
    assert_ok(sh_gpu_kernel_get(&kernel, module, "place_of"));
    const sh_gpu_range all = {memory, 0, sizeof got};
    const uint64_t number = (uint64_t)5 << 32 | 9;
    const sh_gpu_argument step = sh_gpu_struct(&number, sizeof number);
    assert_true(sh_gpu_kernel_items(kernel) >= 64);
    assert_ok(sh_gpu_clear(all));
    assert_ok(sh_gpu_launch(kernel, (uint32_t[]){2, 3, 2}, (uint32_t[]){2, 2, 1},
                            (sh_gpu_argument[]){sh_gpu_pointer(all), step}, 2));
    assert_ok(sh_gpu_launch(kernel, (uint32_t[]){2, 0, 2}, (uint32_t[]){2, 2, 1},
                            (sh_gpu_argument[]){sh_gpu_pointer(all), sh_gpu_u32(0)}, 2));
    assert_ok(sh_gpu_read(got, all));
    assert_ok(sh_gpu_finish(gpu));
    for (uint32_t i = 0; i < 48; i++)
        assert_int_equal(got[i], 5 + i / 4 * 100 + i % 4);
    sh_gpu_memory_free(memory);
}

static void a_pointer_may_be_null(void **state)
{
    (void)state;
    need_gpu();
    uint32_t got = 1;
    sh_gpu_memory *memory;
    sh_gpu_kernel *kernel;
    assert_ok(sh_gpu_memory_new(&memory, gpu, 4));
    assert_ok(sh_gpu_kernel_get(&kernel, module, "is_null"));
    const sh_gpu_range out = {memory, 0, 4};
    assert_ok(sh_gpu_launch(
        kernel, (uint32_t[]){1, 1, 1}, (uint32_t[]){1, 1, 1},
        (sh_gpu_argument[]){sh_gpu_pointer(out), sh_gpu_pointer((sh_gpu_range){0})}, 2));
    assert_ok(sh_gpu_read(&got, out));
    assert_ok(sh_gpu_finish(gpu));
    assert_int_equal(got, 7);
    sh_gpu_memory_free(memory);
}

static void a_range_is_cleared_alone(void **state)
{
    (void)state;
    need_gpu();
    enum { WORDS = 2 * SH_GPU_ALIGNMENT / 4 };
    static uint32_t words[WORDS];
    memset(words, 0xff, sizeof words);
    sh_gpu_memory *memory;
    assert_ok(sh_gpu_memory_new(&memory, gpu, sizeof words));
    assert_ok(sh_gpu_write((sh_gpu_range){memory, 0, sizeof words}, words));
    assert_ok(sh_gpu_clear((sh_gpu_range){memory, SH_GPU_ALIGNMENT, 8}));
    assert_ok(sh_gpu_finish(gpu));
    assert_ok(sh_gpu_read(words, (sh_gpu_range){memory, 0, sizeof words}));
    assert_ok(sh_gpu_finish(gpu));
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(words[i], i / 2 == WORDS / 4 ? 0 : UINT32_MAX);
    sh_gpu_memory_free(memory);
}

static void what_fails_is_told(void **state)
{
    (void)state;
    need_gpu();
    sh_gpu_module *broken = NULL;
    sh_gpu_kernel *kernel = NULL;
    sh_gpu_memory *memory = NULL;
    assert_fails(
        sh_gpu_module_new(&broken, gpu, &(sh_gpu_source){.opencl = "__kernel void f( { nonsense"}),
        SH_FORMAT, "its compiler refuses the kernels");
    assert_fails(sh_gpu_module_new(&broken, gpu, &(sh_gpu_source){.ptx = "only"}), SH_UNSUPPORTED,
                 "no kernels for OpenCL");
    assert_fails(sh_gpu_kernel_get(&kernel, module, "subtract"), SH_NOT_FOUND,
                 "has no kernel 'subtract'");
    assert_fails(sh_gpu_memory_new(&memory, gpu, SIZE_MAX / 4 * 3), SH_NO_MEMORY,
                 sh_gpu_describe_open(gpu)->name);
    assert_null(broken);
    assert_null(kernel);
    assert_null(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_end),
        cmocka_unit_test(a_gpu_says_what_it_is),
        cmocka_unit_test(a_kernel_reads_and_writes_ranges),
        cmocka_unit_test(many_ranges_are_told_apart),
        cmocka_unit_test(groups_and_items_have_three_sides),
        cmocka_unit_test(a_pointer_may_be_null),
        cmocka_unit_test(a_range_is_cleared_alone),
        cmocka_unit_test(what_fails_is_told),
    };
    return cmocka_run_group_tests(tests, open_any, close_it);
}
