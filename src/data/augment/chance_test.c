/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/chance.h"

#include <math.h>

#include "base/test.h"

enum { DRAWS = 40000 };

static void uniform_numbers_fill_their_range(void **state)
{
    (void)state;
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    double sum = 0, least = 9, most = -9;
    for (int i = 0; i < DRAWS; i++) {
        const double x = sh_chance_uniform(&random, -2, 6);
        sum += x;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    assert_true(least >= -2 && least < -1.99 && most <= 6 && most > 5.99);
    assert_true(fabs(sum / DRAWS - 2) < 0.06); /* 5 sigma: 8 / sqrt(12 * 40,000) */
    assert_true(sh_chance_uniform(&random, 3, 3) == 3);
}

static void chances_are_kept(void **state)
{
    (void)state;
    sh_random random = sh_random_for(2, SH_RANDOM_TEST, 0, 0);
    uint32_t count[3] = {0};
    for (int i = 0; i < DRAWS; i++) {
        count[0] += sh_chance_happens(&random, 0);
        count[1] += sh_chance_happens(&random, 0.3);
        count[2] += sh_chance_happens(&random, 1);
    }
    assert_int_equal(count[0], 0);
    assert_in_range(count[1], 12000 - 450, 12000 + 450);
    assert_int_equal(count[2], DRAWS);
}

/* Moments of the normal distribution: 0, 1, 0, 3; and 4.55 % beyond two deviations. */
static void normal_numbers_have_their_moments(void **state)
{
    (void)state;
    sh_random random = sh_random_for(3, SH_RANDOM_TEST, 0, 0);
    double moment[5] = {0}, beyond = 0;
    for (int i = 0; i < DRAWS; i++) {
        const double x = sh_chance_normal(&random);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_numbers_fill_their_range),
        cmocka_unit_test(chances_are_kept),
        cmocka_unit_test(normal_numbers_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
