/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and activations in every variant, for short lengths. */
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

/* ---- functions by number --------------------------------------------------------------------- */

typedef struct function {
    sh_unary f;
    float number[2];
} function;

static const function functions[] = {
    {SH_UNARY_EXP, {0}},         {SH_UNARY_LOG, {0}},      {SH_UNARY_SQRT, {0}},
    {SH_UNARY_RECIPROCAL, {0}},  {SH_UNARY_ABS, {0}},      {SH_UNARY_SOFTPLUS, {0}},
    {SH_UNARY_ELU, {0.7f}},      {SH_UNARY_MISH, {0}},     {SH_UNARY_ERF, {0}},
    {SH_UNARY_POWER, {0}},       {SH_UNARY_POWER, {1}},    {SH_UNARY_POWER, {7}},
    {SH_UNARY_POWER, {-3}},      {SH_UNARY_POWER, {0.5f}}, {SH_UNARY_POWER, {-0.5f}},
    {SH_UNARY_POWER, {2.75f}},   {SH_UNARY_CLIP, {-1, 2}}, {SH_UNARY_HARD_SIGMOID, {0.2f, 0.5f}},
    {SH_UNARY_LINE, {-3, 0.5f}},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

static double exact(const function *of, double x)
{
    const double alpha = (double)of->number[0], beta = (double)of->number[1];
    switch (of->f) {
    case SH_UNARY_EXP:
        return exp(x);
    case SH_UNARY_LOG:
        return log(x);
    case SH_UNARY_SQRT:
        return sqrt(x);
    case SH_UNARY_RECIPROCAL:
        return 1 / x;
    case SH_UNARY_ABS:
        return fabs(x);
    case SH_UNARY_SOFTPLUS:
        return log1p(exp(x));
    case SH_UNARY_ELU:
        return x > 0 ? x : alpha * expm1(x);
    case SH_UNARY_MISH:
        return x * tanh(log1p(exp(x)));
    case SH_UNARY_ERF:
        return erf(x);
    case SH_UNARY_POWER:
        return pow(x, alpha);
    case SH_UNARY_CLIP:
        return fmin(fmax(x, alpha), beta);
    case SH_UNARY_HARD_SIGMOID:
        return fmin(fmax(alpha * x + beta, 0), 1);
    default:
        return alpha * x + beta;
    }
}

static void functions_are_what_they_are_called(void **state)
{
    (void)state;
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    for (size_t n = 0; n < FUNCTIONS; n++)
        for (float x = -30; x <= 30; x += 0.0625f) {
            float y;
            const double is = exact(&functions[n], (double)x);
            kernels->unary(functions[n].f, functions[n].number, 1, NULL, &x, &y);
            if (isnan(is) || isinf(is) ? isfinite(y) && fabs(is) < 3e38
                                       : !(fabs((double)y - is) <= 2e-5 * fmax(fabs(is), 0.05)))
                fail_msg("function %d with %g of %g is %g, not %g", (int)functions[n].f,
                         (double)functions[n].number[0], (double)x, (double)y, is);
        }
}

static void functions_work_in_place(void **state)
{
    (void)state;
    const sh_kernels *plain;
    assert_ok(sh_kernels_choose(&plain, "plain"));
    some_numbers();
    for (size_t i = 0; i < MOST; i++)
        a[i] = fabsf(a[i]) + 0.25f;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t n = 0; sh_variant_runs((*all)->variant) && n < FUNCTIONS; n++)
            for (size_t count = 1; count < MOST; count++) {
                const function *const of = &functions[n];
                float y[MOST], dx[MOST], over[MOST], one;
                memcpy(y, a, sizeof a);
                memcpy(dx, b, sizeof b);
                memcpy(over, a, sizeof a);
                (*all)->unary(of->f, of->number, count, NULL, y, y);
                (*all)->unary(of->f, of->number, count, dx, a, dx);
                (*all)->unary(of->f, of->number, count, b, over, over);
                for (size_t i = 0; i < MOST; i++) {
                    plain->unary(of->f, of->number, 1, NULL, a + i, &one);
                    assert_same(y[i], i < count ? one : a[i]);
                    plain->unary(of->f, of->number, 1, b + i, a + i, &one);
                    assert_same(dx[i], i < count ? one : b[i]);
                    assert_same(over[i], i < count ? one : a[i]);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_follow_the_definition),
        cmocka_unit_test(a_row_with_a_nan_is_nan),
        cmocka_unit_test(activations_work_in_place),
        cmocka_unit_test(functions_are_what_they_are_called),
        cmocka_unit_test(functions_work_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
