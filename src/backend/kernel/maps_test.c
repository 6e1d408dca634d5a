/* SPDX-License-Identifier: Apache-2.0 */
/* Sums as the header defines them and activations in place, in every variant, for all lengths up to
 * some vectors. */
#include "backend/kernel/maps.h"

#include <math.h>
#include <string.h>

#include "backend/kernel/kernels.h"
#include "base/random.h"
#include "base/test.h"

#define MOST 70
#define PARTS 16

static float a[MOST], b[MOST];

static void some_numbers(void)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < MOST; i++) {
        a[i] = i % 7 == 3 ? -0.0f : ldexpf(sh_random_unit(&random) - 0.5f, (int)(i % 9));
        b[i] = sh_random_unit(&random) * 9 - 4;
    }
}

static float combined(float part[PARTS])
{
    for (size_t n = PARTS / 2; n > 0; n /= 2)
        for (size_t p = 0; p < n; p++)
            part[p] += part[p + n];
    return part[0];
}

static void assert_same(float found, float expected)
{
    assert_memory_equal(&found, &expected, sizeof found);
}

static void check_sums(const sh_kernels *kernels, size_t count)
{
    float above[PARTS] = {0}, product[PARTS] = {0}, exponential[PARTS] = {0};
    float e[MOST], shifted[MOST], most = a[0];
    for (size_t i = 0; i < count; i++) {
        shifted[i] = a[i] - b[0];
        most = fmaxf(most, a[i]);
        above[i % PARTS] += shifted[i];
        product[i % PARTS] = fmaf(a[i], b[i], product[i % PARTS]);
    }
    kernels->map(SH_EXP, count, shifted, e);
    for (size_t i = 0; i < count; i++)
        exponential[i % PARTS] += e[i];
    assert_same(kernels->largest(count, a), most);
    assert_same(kernels->sum_above(count, b[0], a), combined(above));
    assert_same(kernels->dot(count, a, b), combined(product));
    const float sum = combined(exponential);
    assert_same(kernels->exp_sum(count, b[0], a, NULL), sum);
    float y[MOST + 1];
    memcpy(y, a, sizeof a);
    y[count] = 77;
    assert_same(kernels->exp_sum(count, b[0], y, y), sum);
    assert_memory_equal(y, e, count * sizeof *y);
    assert_true(y[count] == 77);
}

static void check_wide_sums(const sh_kernels *kernels, size_t count)
{
    double part[4][PARTS] = {{0}};
    const double center = 0.3;
    for (size_t i = 0; i < count; i++) {
        const double x = (double)a[i], y = (double)b[i];
        part[SH_WIDE_SUM][i % PARTS] += x;
        part[SH_WIDE_SQUARES][i % PARTS] += (x - center) * (x - center);
        part[SH_WIDE_PRODUCTS][i % PARTS] += x * (y - center);
        part[SH_WIDE_DISTANCE][i % PARTS] += (x - y) * (x - y);
    }
    for (int kind = 0; kind < 4; kind++) {
        for (size_t n = PARTS / 2; n > 0; n /= 2)
            for (size_t p = 0; p < n; p++)
                part[kind][p] += part[kind][p + n];
        const double found = kernels->wide_sum((sh_wide)kind, count, a, b, center);
        assert_memory_equal(&found, &part[kind][0], sizeof found);
    }
}

static void sums_follow_the_definition(void **state)
{
    (void)state;
    some_numbers();
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t count = 1; sh_variant_runs((*all)->variant) && count <= MOST; count++) {
            check_sums(*all, count);
            check_wide_sums(*all, count);
        }
}

static void a_row_with_a_nan_is_nan(void **state)
{
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t at = 0; sh_variant_runs((*all)->variant) && at < MOST; at++) {
            some_numbers();
            a[at] = NAN;
            assert_true(isnan((*all)->exp_sum(MOST, (*all)->largest(MOST, a), a, NULL)));
        }
}

/* Whatever the length and in place, an element's result is its own. */
static void activations_work_in_place(void **state)
{
    static const sh_op ops[] = {SH_OP_relu,    SH_OP_relu6,        SH_OP_leaky_relu,
                                SH_OP_sigmoid, SH_OP_tanh,         SH_OP_silu,
                                SH_OP_gelu,    SH_OP_hard_sigmoid, SH_OP_hard_swish};
    (void)state;
    some_numbers();
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t o = 0; sh_variant_runs((*all)->variant) && o < sizeof ops / sizeof *ops; o++)
            for (size_t count = 1; count < MOST; count++) {
                float y[MOST], dx[MOST], one;
                memcpy(y, a, sizeof a);
                memcpy(dx, b, sizeof b);
                (*all)->activate(ops[o], 0.25f, count, y, y);
                (*all)->activate_grad(ops[o], 0.25f, count, dx, a, dx);
                for (size_t i = 0; i < MOST; i++) {
                    (*all)->activate(ops[o], 0.25f, 1, a + i, &one);
                    assert_same(y[i], i < count ? one : a[i]);
                    (*all)->activate_grad(ops[o], 0.25f, 1, b + i, a + i, &one);
                    assert_same(dx[i], i < count ? one : b[i]);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_follow_the_definition),
        cmocka_unit_test(a_row_with_a_nan_is_nan),
        cmocka_unit_test(activations_work_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
