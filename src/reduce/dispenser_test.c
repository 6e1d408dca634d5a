/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/dispenser.h"

#include "base/test.h"

#define DEVICES 3

static sh_dispenser_device devices[DEVICES];

static sh_dispenser begin(uint32_t updates, uint32_t bound)
{
    sh_dispenser dispenser;
    devices[0].begun = 7; /* of an earlier lap */
    sh_dispenser_init(&dispenser, devices, DEVICES, updates, bound);
    return dispenser;
}

/* The device asks for an update. Returns its number; UINT32_MAX: none yet. */
static uint32_t ask(sh_dispenser *dispenser, uint32_t device)
{
    uint32_t who = UINT32_MAX, update = UINT32_MAX;
    sh_dispenser_want(dispenser, device);
    if (sh_dispenser_next(dispenser, &who, &update))
        assert_int_equal(who, device);
    return update;
}

static void each_update_is_dealt_once_and_in_order(void **state)
{
    (void)state;
    sh_dispenser dispenser = begin(4, 0);
    assert_int_equal(ask(&dispenser, 2), 0);
    assert_int_equal(ask(&dispenser, 0), 1);
    assert_true(sh_dispenser_finish(&dispenser, 2));
    assert_int_equal(ask(&dispenser, 2), 2);
    assert_int_equal(ask(&dispenser, 2), 3); /* while its last one is on its way */
    assert_int_equal(ask(&dispenser, 1), UINT32_MAX);
    assert_true(sh_dispenser_finish(&dispenser, 2) && sh_dispenser_finish(&dispenser, 2));
    assert_false(sh_dispenser_is_over(&dispenser));
    assert_false(sh_dispenser_finish(&dispenser, 1)); /* it has none */
    assert_true(sh_dispenser_finish(&dispenser, 0));
    assert_true(sh_dispenser_is_over(&dispenser));
}

/* The smallest bound is lockstep; a waiting device receives its update once the slowest asks. */
static void a_bound_holds_the_fast_ones_back(void **state)
{
    (void)state;
    for (uint32_t bound = 1; bound <= 4; bound++) {
        uint32_t device, update;
        sh_dispenser dispenser = begin(100, bound);
        for (uint32_t i = 0; i < bound; i++)
            assert_int_equal(ask(&dispenser, 0), i);
        for (uint32_t i = 0; i < bound; i++)
            assert_true(sh_dispenser_finish(&dispenser, 0));
        assert_int_equal(ask(&dispenser, 0), UINT32_MAX);
        for (uint32_t slow = 1; slow < DEVICES; slow++) {
            assert_false(sh_dispenser_next(&dispenser, &device, &update));
            sh_dispenser_want(&dispenser, slow);
            assert_true(sh_dispenser_next(&dispenser, &device, &update));
            assert_int_equal(device, slow);
            assert_true(sh_dispenser_finish(&dispenser, slow));
        }
        assert_true(sh_dispenser_next(&dispenser, &device, &update));
        assert_int_equal(device, 0);
        assert_int_equal(update, bound + 2);
        assert_int_equal(ask(&dispenser, 0), UINT32_MAX);
    }
}

/* No waiting device is passed over. */
static void devices_have_their_turns(void **state)
{
    (void)state;
    sh_dispenser dispenser = begin(100, 0);
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t device, update;
        for (uint32_t d = 0; d < DEVICES; d++)
            sh_dispenser_want(&dispenser, d);
        assert_true(sh_dispenser_next(&dispenser, &device, &update));
        assert_int_equal(device, i % DEVICES);
        assert_int_equal(update, i);
    }
}

static void a_lap_that_is_to_end_soon(void **state)
{
    (void)state;
    sh_dispenser dispenser = begin(10, 0);
    sh_dispenser_stop(&dispenser); /* a lap has at least one update */
    assert_int_equal(ask(&dispenser, 0), 0);
    assert_int_equal(ask(&dispenser, 1), UINT32_MAX);
    assert_true(sh_dispenser_finish(&dispenser, 0));
    assert_true(sh_dispenser_is_over(&dispenser));
    dispenser = begin(10, 0);
    assert_int_equal(ask(&dispenser, 0), 0);
    assert_int_equal(ask(&dispenser, 1), 1);
    sh_dispenser_stop(&dispenser);
    sh_dispenser_stop(&dispenser);
    assert_int_equal(ask(&dispenser, 2), UINT32_MAX);
    assert_true(sh_dispenser_finish(&dispenser, 0));
    assert_false(sh_dispenser_is_over(&dispenser));
    assert_true(sh_dispenser_finish(&dispenser, 1));
    assert_true(sh_dispenser_is_over(&dispenser));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_update_is_dealt_once_and_in_order),
        cmocka_unit_test(a_bound_holds_the_fast_ones_back),
        cmocka_unit_test(devices_have_their_turns),
        cmocka_unit_test(a_lap_that_is_to_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
