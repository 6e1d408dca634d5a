/* SPDX-License-Identifier: Apache-2.0 */
#include "base/real.h"

#include <float.h>
#include <math.h>

#include "base/random.h"
#include "base/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LIMIT 1e-15 /* with the library's own error */

static void close_to(const char *what, double x, double got, double expected, double limit)
{
    if (!(fabs(got - expected) <= limit * fabs(expected)))
        fail_msg("%s of %a is %a, expected %a", what, x, got, expected);
}

/* Another language's IEEE doubles computed these. */
static void bits_are_pinned(void **state)
{
    (void)state;
    assert_true(sh_real_exp(1) == 0x1.5bf0a8b14576ap+1);
    assert_true(sh_real_exp(-0.1) == 0x1.cf46d99d52b3ap-1);
    assert_true(sh_real_exp(10.5) == 0x1.1bb7015e84d3bp+15);
    assert_true(sh_real_exp(-700.25) == 0x1.af5fe9a485c8ep-1011);
    assert_true(sh_real_log(2) == 0x1.62e42fefa39efp-1);
    assert_true(sh_real_log(0.1) == -0x1.26bb1bbb55515p+1);
    assert_true(sh_real_log(1.0000001) == 0x1.ad7f2847b6491p-24);
    assert_true(sh_real_log(1e300) == 0x1.5963447f87fb5p+9);
    assert_true(sh_real_cos_pi(0.1) == 0x1.e6f0e134454ffp-1);
    assert_true(sh_real_cos_pi(1.0 / 3) == 0.5);
    assert_true(sh_real_cos_pi(0.45) == 0x1.4060b67a85374p-3);
    assert_true(sh_real_cos_pi(0.9) == -0x1.e6f0e13445500p-1);
    assert_true(sh_real_cos_pi(-12.375) == 0x1.87de2a6aea963p-2);
    assert_true(sh_real_power(0.9, 10) == 0x1.650bf60432fdap-2);
    assert_true(sh_real_power(0.999, 1000) == 0x1.788526411edacp-2);
    assert_true(sh_real_power(0.95, 37) == 0x1.32f9a95907c5ap-3);
}

/* The number has 48 random bits. */
static double between(sh_random *random, double low, double high)
{
    const double unit = (double)(sh_random_next(random) >> 8) * 0x1p-24;
    return low + (high - low) * (unit + (double)(sh_random_next(random) >> 8) * 0x1p-48);
}

static void close_to_the_library(void **state)
{
    (void)state;
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (int i = 0; i < 20000; i++) {
        const double wide = between(&random, -708, 709), near = between(&random, -1, 1);
        close_to("exp", wide, sh_real_exp(wide), exp(wide), LIMIT);
        close_to("exp", near, sh_real_exp(near), exp(near), LIMIT);
        close_to("log", 1 + near, sh_real_log(1 + near), log(1 + near), LIMIT);
        close_to("log", exp(wide), sh_real_log(exp(wide)), log(exp(wide)), LIMIT);
        const double angle = 3 * near; /* the library's pi is rounded */
        assert_true(fabs(sh_real_cos_pi(angle) - cos(3.14159265358979323846 * angle)) < 4 * LIMIT);
        const uint64_t exponent = sh_random_below(&random, 3000);
        const double base = between(&random, 0.8, 1.1);
        close_to("power", base, sh_real_power(base, exponent), pow(base, (double)exponent),
                 1e-15 + 3e-16 * (double)exponent);
    }
}

static void ends_of_the_range(void **state)
{
    (void)state;
    assert_true(sh_real_exp(0) == 1);
    assert_true(isinf(sh_real_exp(709.783)) && isinf(sh_real_exp(1e308)));
    assert_true(isinf(sh_real_exp(INFINITY)));
    assert_true(sh_real_exp(-745.3) == 0 && sh_real_exp(-INFINITY) == 0);
    assert_true(sh_real_exp(-745.1) == 0x1p-1074);
    close_to("exp", 709.7, sh_real_exp(709.7), exp(709.7), LIMIT);
    assert_true(isnan(sh_real_exp(NAN)));
    assert_true(sh_real_log(1) == 0);
    assert_true(isinf(sh_real_log(0)) && sh_real_log(0) < 0);
    assert_true(isnan(sh_real_log(-1)) && isnan(sh_real_log(NAN)));
    assert_true(isinf(sh_real_log(INFINITY)));
    close_to("log", 0x1p-1074, sh_real_log(0x1p-1074), log(0x1p-1074), LIMIT);
    close_to("log", DBL_MAX, sh_real_log(DBL_MAX), log(DBL_MAX), LIMIT);
    for (int n = -4; n <= 4; n++) {
        assert_true(sh_real_cos_pi(n) == (n % 2 == 0 ? 1 : -1));
        assert_true(sh_real_cos_pi(n + 0.5) == 0);
    }
    assert_true(sh_real_cos_pi(0x1p53 - 1) == -1);
    assert_true(sh_real_cos_pi(0x1p60) == 1);
    assert_true(isnan(sh_real_cos_pi(INFINITY)) && isnan(sh_real_cos_pi(NAN)));
    assert_true(sh_real_power(0, 0) == 1 && sh_real_power(0, 5) == 0);
    assert_true(sh_real_power(-2, 63) == -0x1p63);
    assert_true(sh_real_power(0.9, UINT64_MAX) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_pinned),
        cmocka_unit_test(close_to_the_library),
        cmocka_unit_test(ends_of_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
