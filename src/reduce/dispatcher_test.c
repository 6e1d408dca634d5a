/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/dispatcher.h"

#include "base/test.h"

#define DEVICES 3

static sh_dispatcher_device devices[DEVICES];

static sh_dispatcher begin(uint32_t updates, uint32_t bound)
{
    sh_dispatcher dispatcher;
    devices[0].begun = 7;
    sh_dispatcher_init(&dispatcher, devices, DEVICES, updates, bound);
    return dispatcher;
}

/* Returns UINT32_MAX if there is none yet. */
static uint32_t ask(sh_dispatcher *dispatcher, uint32_t device)
{
    uint32_t who = UINT32_MAX, update = UINT32_MAX;
    sh_dispatcher_want(dispatcher, device);
    if (sh_dispatcher_next(dispatcher, &who, &update))
        assert_int_equal(who, device);
    return update;
}

static void each_update_is_dealt_once_and_in_order(void **state)
{
    (void)state;
    sh_dispatcher dispatcher = begin(4, 0);
    assert_int_equal(ask(&dispatcher, 2), 0);
    assert_int_equal(ask(&dispatcher, 0), 1);
    assert_true(sh_dispatcher_finish(&dispatcher, 2));
    assert_int_equal(ask(&dispatcher, 2), 2);
    assert_int_equal(ask(&dispatcher, 2), 3); /* the last one is on its way */
    assert_int_equal(ask(&dispatcher, 1), UINT32_MAX);
    assert_true(sh_dispatcher_finish(&dispatcher, 2) && sh_dispatcher_finish(&dispatcher, 2));
    assert_false(sh_dispatcher_is_over(&dispatcher));
    assert_false(sh_dispatcher_finish(&dispatcher, 1)); /* it has none */
    assert_true(sh_dispatcher_finish(&dispatcher, 0));
    assert_true(sh_dispatcher_is_over(&dispatcher));
}

static void a_bound_holds_the_fast_ones_back(void **state)
{
    (void)state;
    for (uint32_t bound = 1; bound <= 4; bound++) {
        uint32_t device, update;
        sh_dispatcher dispatcher = begin(100, bound);
        for (uint32_t i = 0; i < bound; i++)
            assert_int_equal(ask(&dispatcher, 0), i);
        for (uint32_t i = 0; i < bound; i++)
            assert_true(sh_dispatcher_finish(&dispatcher, 0));
        assert_int_equal(ask(&dispatcher, 0), UINT32_MAX);
        for (uint32_t slow = 1; slow < DEVICES; slow++) {
            assert_false(sh_dispatcher_next(&dispatcher, &device, &update));
            sh_dispatcher_want(&dispatcher, slow);
            assert_true(sh_dispatcher_next(&dispatcher, &device, &update));
            assert_int_equal(device, slow);
            assert_true(sh_dispatcher_finish(&dispatcher, slow));
        }
        assert_true(sh_dispatcher_next(&dispatcher, &device, &update));
        assert_int_equal(device, 0);
        assert_int_equal(update, bound + 2);
        assert_int_equal(ask(&dispatcher, 0), UINT32_MAX);
    }
}

static void devices_have_their_turns(void **state)
{
    (void)state;
    sh_dispatcher dispatcher = begin(100, 0);
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t device, update;
        for (uint32_t d = 0; d < DEVICES; d++)
            sh_dispatcher_want(&dispatcher, d);
        assert_true(sh_dispatcher_next(&dispatcher, &device, &update));
        assert_int_equal(device, i % DEVICES);
        assert_int_equal(update, i);
    }
}

static void a_lap_that_is_to_end_soon(void **state)
{
    (void)state;
    sh_dispatcher dispatcher = begin(10, 0);
    sh_dispatcher_stop(&dispatcher);
    assert_int_equal(ask(&dispatcher, 0), 0);
    assert_int_equal(ask(&dispatcher, 1), UINT32_MAX);
    assert_true(sh_dispatcher_finish(&dispatcher, 0));
    assert_true(sh_dispatcher_is_over(&dispatcher));
    dispatcher = begin(10, 0);
    assert_int_equal(ask(&dispatcher, 0), 0);
    assert_int_equal(ask(&dispatcher, 1), 1);
    sh_dispatcher_stop(&dispatcher);
    sh_dispatcher_stop(&dispatcher);
    assert_int_equal(ask(&dispatcher, 2), UINT32_MAX);
    assert_true(sh_dispatcher_finish(&dispatcher, 0));
    assert_false(sh_dispatcher_is_over(&dispatcher));
    assert_true(sh_dispatcher_finish(&dispatcher, 1));
    assert_true(sh_dispatcher_is_over(&dispatcher));
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
