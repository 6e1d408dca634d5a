/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/repairs.h"

#include "base/test.h"

static void the_fourth_fault_without_a_step_is_too_many(void **state)
{
    (void)state;
    sh_repairs repairs = {0};
    for (int i = 0; i < SH_REPAIRS_MAX; i++)
        assert_false(sh_repairs_add_fault(&repairs, 5));
    assert_true(sh_repairs_add_fault(&repairs, 5));
    repairs = (sh_repairs){0};
    for (int i = 0; i < SH_REPAIRS_MAX; i++)
        assert_false(sh_repairs_add_fault(&repairs, 5));
    sh_repairs_passed(&repairs, 6);
    assert_false(sh_repairs_add_fault(&repairs, 6));
}

/* Steps until a device with a fault every `period` steps is evicted; 0: never. */
static uint64_t steps_until_out(uint64_t period)
{
    sh_repairs repairs = {0};
    for (uint64_t steps = 1; steps < 10000; steps++) {
        sh_repairs_passed(&repairs, steps);
        if (steps % period == 0 && sh_repairs_add_fault(&repairs, steps))
            return steps;
    }
    return 0;
}

static void faults_with_few_steps_between_them_add_up(void **state)
{
    (void)state;
    assert_in_range(steps_until_out(1), SH_REPAIRS_LATELY, 2 * SH_REPAIRS_LATELY);
    assert_in_range(steps_until_out(4), 4 * SH_REPAIRS_LATELY, 16 * SH_REPAIRS_LATELY);
    assert_int_equal(steps_until_out(SH_REPAIRS_CALM + 1), 0);
    assert_int_equal(steps_until_out(1000), 0);
}

static void one_that_came_back_has_no_more_credit(void **state)
{
    (void)state;
    sh_repairs repairs = {.again = true};
    sh_repairs_passed(&repairs, 900);
    assert_true(sh_repairs_add_fault(&repairs, 900));
}

static void donors_are_remembered_until_a_step_is_applied(void **state)
{
    (void)state;
    sh_repairs repairs = {0};
    for (uint32_t i = 0; i < 2 * SH_REPAIRS_DONORS; i++)
        sh_repairs_add_donor(&repairs, i / 2);
    assert_true(sh_repairs_has_donor(&repairs, 0));
    assert_true(sh_repairs_has_donor(&repairs, SH_REPAIRS_DONORS - 1));
    assert_false(sh_repairs_has_donor(&repairs, SH_REPAIRS_DONORS));
    sh_repairs_passed(&repairs, 1);
    assert_false(sh_repairs_has_donor(&repairs, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fourth_fault_without_a_step_is_too_many),
        cmocka_unit_test(faults_with_few_steps_between_them_add_up),
        cmocka_unit_test(one_that_came_back_has_no_more_credit),
        cmocka_unit_test(donors_are_remembered_until_a_step_is_applied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
