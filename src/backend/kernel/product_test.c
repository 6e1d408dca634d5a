/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares every variant with the definition, bit by bit. Numbers span many exponents, so sums
 * cancel, underflow and give denormal results; some are zero.
 */
#include "backend/kernel/kernels.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"

#define CASES 600
#define MOST 40

static sh_random numbers;

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(sh_random_unit(&numbers) * (float)limit);
}

static float *some_numbers(size_t count)
{
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = below(8) == 0
                        ? 0.0f
                        : ldexpf(sh_random_unit(&numbers) - 0.5f, (int)below(3) * 60 - 100);
    return values;
}

static void reference(const sh_matrix_product *p)
{
    for (size_t l = 0; l < p->lines; l++)
        for (size_t i = 0; i < p->rows; i++)
            for (size_t j = 0; j < p->columns; j++) {
                float *const c = p->c + l * p->c_line + i * p->c_row + j;
                const float *const b = p->b + j / SH_PANEL * p->b_panel + j % SH_PANEL;
                const size_t first = p->ranges == NULL ? 0 : p->ranges[l][0];
                const size_t end = p->ranges == NULL ? p->segments : p->ranges[l][1];
                float sum = p->continues ? *c : 0.0f;
                for (size_t s = first; s < end; s++) {
                    const sh_segment at = p->starts == NULL ? (sh_segment){0, 0} : p->starts[s];
                    for (size_t k = 0; k < p->length; k++)
                        sum = fmaf(
                            p->a[at.a + (ptrdiff_t)(l * p->a_line + i * p->a_row + k * p->a_step)],
                            b[(at.b + k) * p->b_row], sum);
                }
                *c = p->bias == NULL ? sum : sum + p->bias[j];
            }
}

static void check(const sh_kernels *kernels)
{
    const bool along = below(2) == 0, packed = below(2) == 0;
    size_t ranges[3][2];
    sh_segment starts[4];
    sh_matrix_product p = {
        .segments = 1 + below(4),
        .length = 1 + below(MOST),
        .lines = 1 + below(3),
        .rows = 1 + below(MOST),
        .columns = 1 + below(3 * (uint32_t)SH_PANEL),
        .continues = below(3) == 0,
        .b_padded = packed,
    };
    const size_t gap = below(3), K = p.segments * p.length;
    const size_t inner = along ? p.length : p.rows, outer = along ? p.rows : p.length;
    const size_t step = below(9) == 0 ? 1024 : inner + gap, segment = outer * step,
                 line = p.segments * segment;
    p.a_row = along ? step : 1;
    p.a_step = along ? 1 : step;
    p.a_line = line;
    for (size_t s = 0; s < p.segments; s++)
        starts[s] = (sh_segment){(ptrdiff_t)(s * segment), (p.segments - 1 - s) * p.length};
    p.starts = p.segments == 1 && below(2) == 0 ? NULL : starts;
    for (size_t l = 0; l < p.lines; l++) {
        ranges[l][0] = below((uint32_t)p.segments + 1);
        ranges[l][1] = ranges[l][0] + below((uint32_t)(p.segments - ranges[l][0]) + 1);
    }
    p.ranges = below(2) == 0 ? NULL : (const size_t(*)[2])ranges;
    p.b_row = packed ? sh_panel_width(p.columns) : p.columns + gap;
    p.b_panel = packed ? K * p.b_row : SH_PANEL;
    p.c_row = p.columns + gap;
    p.c_line = p.rows * p.c_row;
    const size_t c_count = p.lines * p.c_line;
    const size_t b_count = packed ? sh_panel_floats(K, p.columns) : K * p.b_row;
    float *const a = some_numbers(p.lines * line), *const b = some_numbers(b_count);
    float *const bias = below(2) == 0 ? some_numbers(p.columns) : NULL;
    float *const expected = some_numbers(c_count), *const found = malloc(c_count * sizeof *found);
    assert_non_null(found);
    memcpy(found, expected, c_count * sizeof *found);
    p.a = a;
    p.b = b;
    p.bias = bias;
    p.c = expected;
    reference(&p);
    p.c = found;
    kernels->product(&p);
    for (size_t i = 0; i < c_count; i++)
        if (memcmp(&found[i], &expected[i], sizeof *found) != 0)
            fail_msg("%s: element %zu of %zux%zux%zu is %a, not %a", kernels->name, i, p.lines,
                     p.rows, p.columns, (double)found[i], (double)expected[i]);
    free(a);
    free(b);
    free(bias);
    free(expected);
    free(found);
}

static void every_variant_follows_the_definition(void **state)
{
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        numbers = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
        for (int i = 0; i < CASES && sh_variant_runs((*all)->variant); i++)
            check(*all);
    }
}

/* The exact sum is so close to the middle of two floats that its rounding to double is the
 * middle. */
static void a_chain_is_rounded_once_a_step(void **state)
{
    static const struct {
        float a, b, c;
    } sums[] = {
        {0x1.000002p+0f, 0x1.000002p+0f, 0x1p-60f},
        {0x1.000002p-12f, 0x1.000002p-12f, 0x1p+0f},
        {0x1.fffffep-1f, 0x1.000002p-24f, 0x1p+0f},
        {0x1.8p-75f, 0x1.000002p-75f, 0x1p-126f},
        {-0x1.000002p-70f, 0x1.000002p-79f, 0x1p-149f},
        {0x1.fffffep+127f, 0x1.fffffep+127f, -INFINITY},
        {-1.0f, 0.0f, 0.0f},
        {0x1p-80f, -0x1p-80f, 0.0f},
    };
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t i = 0; i < sizeof sums / sizeof *sums && sh_variant_runs((*all)->variant);
             i++) {
            float found = sums[i].c;
            const float expected = fmaf(sums[i].a, sums[i].b, sums[i].c);
            (*all)->product(&(sh_matrix_product){.a = &sums[i].a,
                                                 .a_step = 1,
                                                 .segments = 1,
                                                 .length = 1,
                                                 .b = &sums[i].b,
                                                 .b_panel = SH_PANEL,
                                                 .c = &found,
                                                 .lines = 1,
                                                 .rows = 1,
                                                 .columns = 1,
                                                 .continues = true});
            assert_memory_equal(&found, &expected, sizeof found);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_follows_the_definition),
        cmocka_unit_test(a_chain_is_rounded_once_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
