/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/draw.h"

#include <math.h>

#include "base/test.h"

enum { DRAWS = 40000 };

static void uniform_numbers_fill_their_range(void **state)
{
    (void)state;
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    double sum = 0, least = 9, most = -9;
    for (int i = 0; i < DRAWS; i++) {
        const double x = sh_draw_uniform(&random, -2, 6);
        sum += x;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    assert_true(least >= -2 && least < -1.99 && most <= 6 && most > 5.99);
    assert_true(fabs(sum / DRAWS - 2) < 0.06); /* 5 sigma: 8 / sqrt(12 * 40,000) */
    assert_true(sh_draw_uniform(&random, 3, 3) == 3);
}

static void chances_are_kept(void **state)
{
    (void)state;
    sh_random random = sh_random_for(2, SH_RANDOM_TEST, 0, 0);
    uint32_t count[3] = {0};
    for (int i = 0; i < DRAWS; i++) {
        count[0] += sh_draw_bernoulli(&random, 0);
        count[1] += sh_draw_bernoulli(&random, 0.3);
        count[2] += sh_draw_bernoulli(&random, 1);
    }
    assert_int_equal(count[0], 0);
    assert_in_range(count[1], 12000 - 450, 12000 + 450);
    assert_int_equal(count[2], DRAWS);
}

/* Moments 0, 1, 0, 3; 4.55 % lie beyond two deviations. */
static void normal_numbers_have_their_moments(void **state)
{
    (void)state;
    sh_random random = sh_random_for(3, SH_RANDOM_TEST, 0, 0);
    double moment[5] = {0}, beyond = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double x = sh_draw_normal(&random);
        double power = 1;
        for (int k = 0; k < 5; k++, power *= x)
            moment[k] += power / DRAWS;
        beyond += fabs(x) > 2 ? 1.0 / DRAWS : 0;
    }
    assert_true(fabs(moment[1]) < 0.025);
    assert_true(fabs(moment[2] - 1) < 0.035);
    assert_true(fabs(moment[3]) < 0.1);
    assert_true(fabs(moment[4] - 3) < 0.25);
    assert_true(fabs(beyond - 0.0455) < 0.005);
}

static void beta_numbers_have_their_moments(void **state)
{
    (void)state;
    static const double cases[] = {0.05, 0.2, 0.5, 1, 2, 10};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sh_random random = sh_random_for(4, SH_RANDOM_TEST, (uint32_t)k, 0);
        const double variance = 0.25 / (2 * cases[k] + 1);
        double mean = 0, squares = 0, tails = 0;
        for (int i = 0; i < DRAWS; i++) {
            const double x = sh_draw_beta(&random, cases[k]);
            assert_true(x >= 0 && x <= 1);
            mean += x / DRAWS;
            squares += (x - 0.5) * (x - 0.5) / DRAWS;
            tails += (x < 0.25 ? 1.0 : x > 0.75 ? -1.0 : 0) / DRAWS;
        }
        assert_true(fabs(mean - 0.5) < 4.5 * sqrt(variance / DRAWS));
        assert_true(fabs(squares - variance) < 0.04 * variance);
        assert_true(fabs(tails) < 4.5 / sqrt(DRAWS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_numbers_fill_their_range),
        cmocka_unit_test(chances_are_kept),
        cmocka_unit_test(normal_numbers_have_their_moments),
        cmocka_unit_test(beta_numbers_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
