/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the functions with the C library's in double precision, and the bits of all variants
 * with each other. SHOAL_TEST_STEP=1 tests all floats.
 */
#include "backend/kernel/functions.h"

#include <stdlib.h>

#include "backend/kernel/kernels.h"
#include "base/test.h"

#define USUAL_STEP 4099
#define ROOM 4096

typedef struct subject {
    sh_function f;
    const char *name;
    double (*exact)(double);
    double limit; /* of the error, in ulp */
} subject;

static const subject subjects[] = {
    {SH_EXP, "exp", exp, 0.9},
    {SH_LOG, "log", log, 0.9},
    {SH_TANH, "tanh", tanh, 1.4},
    {SH_ERF, "erf", erf, 1.05},
};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double error_of(float y, double exact)
{
    int exponent;
    if (isnan(exact))
        return bits_of(y) == 0x7fc00000u ? 0 : INFINITY;
    if (isinf(y) || isinf(exact)) /* infinite from halfway to the next float on */
        return fabs(exact) >= 0x1.ffffffp+127 && isinf(y) && (y > 0) == (exact > 0) ? 0 : INFINITY;
    frexp(exact, &exponent);
    return fabs((double)y - exact) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

static void check(const subject *s, uint64_t step)
{
    static float x[ROOM], expected[ROOM], found[ROOM];
    double worst = 0;
    for (uint64_t first = 0; first < UINT64_C(1) << 32; first += ROOM * step) {
        size_t count = 0;
        for (uint64_t at = first; count < ROOM && at < UINT64_C(1) << 32; at += step)
            x[count++] = float_of((uint32_t)at);
        const sh_kernels *reference = NULL;
        for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
            if (!sh_variant_runs((*all)->variant))
                continue;
            (*all)->map(s->f, count, x, reference == NULL ? expected : found);
            for (size_t i = 0; reference != NULL && i < count; i++)
                if (bits_of(found[i]) != bits_of(expected[i]))
                    fail_msg("%s(%a) is %a by %s, but %a by %s", s->name, (double)x[i],
                             (double)found[i], (*all)->name, (double)expected[i], reference->name);
            reference = reference == NULL ? *all : reference;
        }
        for (size_t i = 0; i < count; i++) {
            const double error = error_of(expected[i], s->exact((double)x[i]));
            if (error > s->limit)
                fail_msg("%s(%a) is %a: %g units off", s->name, (double)x[i], (double)expected[i],
                         error);
            worst = error > worst ? error : worst;
        }
    }
    print_message("%s: at most %.4f units in the last place\n", s->name, worst);
}

static void functions_are_exact_and_alike(void **state)
{
    (void)state;
    const char *const step = getenv("SHOAL_TEST_STEP");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        check(&subjects[i], step == NULL ? USUAL_STEP : strtoull(step, NULL, 10));
}

static void special_values_are_as_stated(void **state)
{
    static const struct {
        sh_function f;
        uint32_t x, y;
    } cases[] = {
        {SH_EXP, 0x00000000, 0x3f800000},  /* 0: 1 */
        {SH_EXP, 0x80000000, 0x3f800000},  /* -0 */
        {SH_EXP, 0x00000001, 0x3f800000},  /* denormal */
        {SH_EXP, 0x7f800000, 0x7f800000},  /* infinite */
        {SH_EXP, 0xff800000, 0x00000000},  /* -infinite */
        {SH_EXP, 0x42b17217, 0x7f7fff84},  /* 88.722832: the last finite one */
        {SH_EXP, 0x42b17218, 0x7f800000},  /* 88.722839 */
        {SH_EXP, 0x7f7fffff, 0x7f800000},  /* the largest */
        {SH_EXP, 0xc2cff1b4, 0x00000001},  /* -103.97208: the last one above 0 */
        {SH_EXP, 0xc2cff1b5, 0x00000000},  /* -103.97208 */
        {SH_EXP, 0xff7fffff, 0x00000000},  /* the largest negative */
        {SH_LOG, 0x3f800000, 0x00000000},  /* 1: +0 */
        {SH_LOG, 0x00000000, 0xff800000},  /* 0: -infinite */
        {SH_LOG, 0x80000000, 0xff800000},  /* -0 */
        {SH_LOG, 0x7f800000, 0x7f800000},  /* infinite */
        {SH_LOG, 0xff800000, 0x7fc00000},  /* -infinite: NaN */
        {SH_LOG, 0x80000001, 0x7fc00000},  /* negative and denormal */
        {SH_LOG, 0xbf800000, 0x7fc00000},  /* -1 */
        {SH_LOG, 0x00000001, 0xc2ce8ed0},  /* the least denormal */
        {SH_TANH, 0x00000000, 0x00000000}, /* 0 */
        {SH_TANH, 0x80000000, 0x80000000}, /* -0 */
        {SH_TANH, 0x00000001, 0x00000001}, /* denormals map to themselves */
        {SH_TANH, 0x807fffff, 0x807fffff}, {SH_TANH, 0x7f800000, 0x3f800000},
        {SH_TANH, 0xff800000, 0xbf800000}, {SH_TANH, 0x7f7fffff, 0x3f800000},
        {SH_ERF, 0x00000000, 0x00000000},  {SH_ERF, 0x80000000, 0x80000000},
        {SH_ERF, 0x00000001, 0x00000001},  {SH_ERF, 0x7f800000, 0x3f800000},
        {SH_ERF, 0xff800000, 0xbf800000},  {SH_ERF, 0xff7fffff, 0xbf800000},
    };
    static const uint32_t nans[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffbfffff, 0x7fffffff};
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
        for (size_t i = 0; sh_variant_runs((*all)->variant) && i < sizeof cases / sizeof *cases;
             i++) {
            float y = float_of(cases[i].x);
            (*all)->map(cases[i].f, 1, &y, &y);
            if (bits_of(y) != cases[i].y)
                fail_msg("%s: function %d of %08x is %08x, not %08x", (*all)->name, cases[i].f,
                         cases[i].x, bits_of(y), cases[i].y);
        }
        for (size_t f = 0; sh_variant_runs((*all)->variant) && f < 4; f++)
            for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
                float y = float_of(nans[i]);
                (*all)->map((sh_function)f, 1, &y, &y);
                assert_int_equal(bits_of(y), 0x7fc00000);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_exact_and_alike),
        cmocka_unit_test(special_values_are_as_stated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
