/* SPDX-License-Identifier: Apache-2.0 */
#include "train/statistic.h"

#include <math.h>

#include "base/test.h"

static void moves_a_tenth_of_the_way(void **state)
{
    (void)state;
    float running[] = {1.0f, -2.0f, 0.0f};
    const int32_t sum[] = {1 << 20, 0, -3 * (1 << 20)};
    uint32_t max_abs = 5;
    sh_statistic_follow(running, sum, 0x1p-19f, 3, 0.1f, &max_abs);
    assert_float_equal(running[0], 1.1f, 1e-6f);
    assert_float_equal(running[1], -1.8f, 1e-6f);
    assert_float_equal(running[2], -0.6f, 1e-6f);
    assert_int_equal(max_abs, 3 << 20);
}

static void takes_a_mean_over(void **state)
{
    (void)state;
    float running[] = {1e30f, -INFINITY, 0.1f};
    const int32_t sum[] = {3, 5, 1 << 30};
    uint32_t max_abs = 0;
    sh_statistic_follow(running, sum, 0x1p-2f, 3, 1.0f, &max_abs);
    assert_true(running[0] == 0.75f && running[1] == 1.25f && running[2] == 0x1p28f);
    assert_int_equal(max_abs, 1 << 30);
}

static void follows_values_likewise(void **state)
{
    (void)state;
    float from_sum[] = {1.0f, -2.0f, 0.7f}, from_values[] = {1.0f, -2.0f, 0.7f};
    const int32_t sum[] = {3, 5, -7};
    const float values[] = {0.375f, 0.625f, -0.875f};
    uint32_t max_abs = 0;
    sh_statistic_follow(from_sum, sum, 0x1p-3f, 3, 0.01f, &max_abs);
    sh_statistic_follow_values(from_values, values, 3, 0.01f);
    assert_memory_equal(from_values, from_sum, sizeof from_sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_a_tenth_of_the_way),
        cmocka_unit_test(takes_a_mean_over),
        cmocka_unit_test(follows_values_likewise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
