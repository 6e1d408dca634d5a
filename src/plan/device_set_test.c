/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device_set.h"

#include <math.h>

#include "base/test.h"

static const sh_device_set_kind kinds[] = {
    {{.rate = 40, .out = 1e7, .in = 1e7}, 4, 20},
    {{.rate = 10, .out = 1e7, .in = 1e7}, 8, 3},
};
static const sh_lineup_job job = {.grains = 16, .summed = 1e6, .stretch = 1};

static void least_energy_is_not_least_time(void **state)
{
    (void)state;
    sh_device_set set, fast;
    assert_true(sh_device_set_choose(&set, &job, kinds, 2, &(sh_device_set_goal){.energy = true}));
    assert_int_equal(set.devices, 1); /* 16 grains at 10 per second, 3 W */
    assert_int_equal(set.used[1], 1);
    assert_true(fabs(set.joules - 4.8) < 1e-9);
    /* Three slow ones would need 16 / 3 grains at 10 per second: too long. */
    assert_true(sh_device_set_choose(&fast, &job, kinds, 2,
                                     &(sh_device_set_goal){.energy = true, .limit_s = 0.45}));
    assert_int_equal(fast.used[0], 1);
    assert_int_equal(fast.devices, 1);
    assert_true(fabs(fast.joules - 8) < 1e-9);
    assert_true(fast.time.seconds <= 0.45);
}

static void a_limit_wants_few_devices(void **state)
{
    (void)state;
    sh_device_set set;
    assert_true(sh_device_set_choose(&set, &job, kinds, 2, &(sh_device_set_goal){.limit_s = 1.0}));
    assert_int_equal(set.devices, 1);
    assert_int_equal(set.used[0], 1); /* the fastest single device */
    assert_true(sh_device_set_choose(&set, &job, kinds, 2, &(sh_device_set_goal){.limit_s = 0.31}));
    assert_int_equal(set.devices, 2);
    assert_false(
        sh_device_set_choose(&set, &job, kinds, 2, &(sh_device_set_goal){.limit_s = 0.01}));
    assert_int_equal(set.devices, 2); /* untouched */
}

static void many_devices_are_searched(void **state)
{
    (void)state;
    sh_device_set_kind many[] = {kinds[0], kinds[1], kinds[1]};
    sh_device_set set, all;
    const sh_device_set_goal goal = {.energy = true, .limit_s = 0.3};
    many[2].device.rate = 12;
    many[2].watts = 4;
    assert_true(sh_device_set_choose(&all, &job, many, 3, &goal)); /* tries all 405 sets */
    many[0].count = many[1].count = many[2].count = 30;            /* searches 29,791 sets */
    assert_true(sh_device_set_choose(&set, &job, many, 3, &goal));
    assert_true(set.joules <= all.joules * (1 + 1e-9));
}

static void energy_needs_watts(void **state)
{
    (void)state;
    sh_device_set_kind one = kinds[0];
    sh_device_set set;
    one.watts = 0;
    assert_true(sh_device_set_choose(&set, &job, &one, 1, &(sh_device_set_goal){.limit_s = 10}));
    assert_true(set.joules == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_energy_is_not_least_time),
        cmocka_unit_test(a_limit_wants_few_devices),
        cmocka_unit_test(many_devices_are_searched),
        cmocka_unit_test(energy_needs_watts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
