/* SPDX-License-Identifier: Apache-2.0 */
#include "train/statistic.h"

#include "base/test.h"

static void moves_a_tenth_of_the_way(void **state)
{
    (void)state;
    float running[] = {1.0f, -2.0f, 0.0f};
    const int32_t sum[] = {1 << 20, 0, -3 * (1 << 20)};
    uint32_t max_abs = 5;
    sh_statistic_follow(running, sum, 0x1p-19f, 3, &max_abs);
    assert_float_equal(running[0], 1.1f, 1e-6f);
    assert_float_equal(running[1], -1.8f, 1e-6f);
    assert_float_equal(running[2], -0.6f, 1e-6f);
    assert_int_equal(max_abs, 3 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(moves_a_tenth_of_the_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
