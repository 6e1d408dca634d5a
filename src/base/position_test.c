/* SPDX-License-Identifier: Apache-2.0 */
#include "base/position.h"

#include "base/test.h"

static void positions_are_ordered_by_steps_then_phase(void **state)
{
    (void)state;
    static const sh_position rising[] = {{0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 7}, {2, 0}, {9, 1}};
    enum { COUNT = sizeof rising / sizeof *rising };
    for (size_t a = 0; a < COUNT; a++)
        for (size_t b = 0; b < COUNT; b++) {
            assert_int_equal(sh_position_before(rising[a], rising[b]), a < b);
            assert_int_equal(sh_position_same(rising[a], rising[b]), a == b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_ordered_by_steps_then_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
