/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/silence.h"

#include "base/test.h"

static sh_silence silence;
static uint64_t now_ms;

static void hear(uint64_t pause_ms, int count)
{
    for (int i = 0; i < count; i++) {
        now_ms += pause_ms;
        sh_silence_heard(&silence, now_ms);
    }
}

static int begin(void **state)
{
    (void)state;
    now_ms = 123456;
    sh_silence_begin(&silence, now_ms);
    return 0;
}

static void one_that_keeps_its_time_gets_the_least(void **state)
{
    (void)state;
    hear(100, 60);
    hear(112, 1);
    hear(0, 3);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 450);
    assert_int_equal(sh_silence_ms(&silence, now_ms + 300), 300);
}

/* A device with a twentieth of a core and pauses of 220 ms was lost after 882 ms. */
static void a_slow_one_may_be_ten_times_as_late(void **state)
{
    (void)state;
    hear(100, 60);
    hear(220, 1);
    hear(100, 10);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 1300);
    hear(400, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 3100);
    hear(700, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 4000);
}

static void a_very_slow_one_gets_four_times_its_longest_pause(void **state)
{
    (void)state;
    hear(100, 60);
    hear(1500, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 6000);
}

/* An emulated board was lost after 472 ms, in its first seconds. */
static void a_new_one_has_time(void **state)
{
    (void)state;
    assert_int_equal(sh_silence_limit_ms(&silence, true), 2000);
    hear(100, 49);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 2000);
    hear(100, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 450);
}

static void a_pause_is_forgotten(void **state)
{
    (void)state;
    hear(100, 10);
    hear(1000, 1);
    hear(100, 320); /* half a minute later */
    assert_int_equal(sh_silence_limit_ms(&silence, true), 4000);
    hear(100, 300);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 450);
}

/* Its pauses grow less than fourfold each time. */
static void no_limit_is_above_the_most(void **state)
{
    (void)state;
    uint64_t pause_ms = 100;
    for (int i = 0; i < 4; i++, pause_ms *= 3) {
        assert_true(pause_ms < sh_silence_limit_ms(&silence, true));
        hear(pause_ms, 3);
    }
    hear(60000, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 8000);
    assert_int_equal(sh_silence_limit_ms(&silence, false), 8000);
}

static void one_that_nobody_waits_for_has_time(void **state)
{
    (void)state;
    assert_int_equal(sh_silence_limit_ms(&silence, false), 2000);
    hear(1500, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, false), 6000);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_keeps_its_time_gets_the_least, begin),
        cmocka_unit_test_setup(a_slow_one_may_be_ten_times_as_late, begin),
        cmocka_unit_test_setup(a_very_slow_one_gets_four_times_its_longest_pause, begin),
        cmocka_unit_test_setup(a_new_one_has_time, begin),
        cmocka_unit_test_setup(a_pause_is_forgotten, begin),
        cmocka_unit_test_setup(no_limit_is_above_the_most, begin),
        cmocka_unit_test_setup(one_that_nobody_waits_for_has_time, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
