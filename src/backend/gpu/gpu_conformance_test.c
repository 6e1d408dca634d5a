/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/gpu/gpu_conformance.h"

#include "backend/gpu/gpu_fixture.h"
#include "gpu/driver.h"

static void a_gpu_proves_its_arithmetic(void **state)
{
    (void)state;
    need_gpu();
    assert_ok(sh_gpu_check_conformance(gpu_kernels));
}

/* The word of the next read to change; SIZE_MAX and below: of the counters. */
static size_t lie_at;
static const sh_gpu_driver *honest;

static sh_status read_and_lie(void *host, sh_gpu_range range)
{
    uint32_t *words = host;
    const bool counters = range.bytes == 2 * sizeof *words;
    SH_TRY(honest->read(host, range));
    SH_TRY(honest->finish(range.memory->gpu));
    if (counters && lie_at > SIZE_MAX - 2)
        words[SIZE_MAX - lie_at] ^= 1;
    else if (!counters && lie_at < range.bytes / sizeof *words)
        words[lie_at] ^= 1;
    return SH_OK;
}

static void one_wrong_bit_is_found(void **state)
{
    (void)state;
    static const struct {
        size_t at; /* operation number, or SIZE_MAX - counter number */
        const char *part;
    } cases[] = {
        {0, "its fused multiply-add differs from a processor's; from "},
        {1, "its multiplication and addition differs from"},
        {2, "its subtraction differs from"},
        {3, "its division differs from"},
        {4, "its square root differs from"},
        {5, "its rounding to an integer differs from"},
        {6, "its conversion of a signed integer differs from"},
        {7, "its conversion of an unsigned integer differs from"},
        {8, "its multiplication and addition in double precision differs from"},
        {9, "its division in double precision differs from"},
        {10, "its square root in double precision differs from"},
        {11, "its comparison differs from"},
        {SIZE_MAX, "its atomic addition of integers is wrong"},
        {SIZE_MAX - 1, "its atomic maximum of integers is wrong"},
    };
    enum { CHOSEN = 48, COUNT = CHOSEN * CHOSEN + 4096, ONE = 17 };
    need_gpu();
    sh_gpu_driver lying = *gpu->driver;
    honest = gpu->driver;
    lying.read = read_and_lie;
    gpu->driver = &lying;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lie_at =
            cases[i].at > SIZE_MAX - 2 ? cases[i].at : cases[i].at * COUNT + ONE * CHOSEN + ONE;
        const sh_status status = sh_gpu_check_conformance(gpu_kernels);
        if (status != SH_UNSUPPORTED || strstr(sh_message(), cases[i].part) == NULL)
            print_message("case %zu\n", i);
        assert_fails(status, SH_UNSUPPORTED, cases[i].part);
    }
    gpu->driver = honest;
    assert_ok(sh_gpu_check_conformance(gpu_kernels));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_proves_its_arithmetic),
        cmocka_unit_test(one_wrong_bit_is_found),
    };
    return cmocka_run_group_tests(tests, open_any_gpu, close_gpu);
}
