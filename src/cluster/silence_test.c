/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/silence.h"

#include "base/test.h"

static sh_silence silence;
static uint64_t now_ms;

/* It is heard `count` times, each after such a pause. */
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
    assert_int_equal(sh_silence_limit_ms(&silence, true), 450);
    hear(100, 30);
    hear(225, 1);
    hear(0, 3); /* several messages at once */
    assert_int_equal(sh_silence_limit_ms(&silence, true), 450);
    assert_int_equal(sh_silence_ms(&silence, now_ms + 300), 300);
}

static void a_slow_one_gets_twice_its_longest_pause(void **state)
{
    (void)state;
    hear(100, 10);
    hear(400, 1);
    hear(100, 10);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 800);
    hear(700, 1);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 1400);
}

static void a_pause_is_forgotten(void **state)
{
    (void)state;
    hear(100, 10);
    hear(1000, 1);
    hear(100, 45); /* 5.5 s after the last look */
    assert_int_equal(sh_silence_limit_ms(&silence, true), 2000);
    hear(100, 60);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 450);
}

/* Slower and slower, each pause less than twice the one before: never past its limit. */
static void no_limit_is_above_the_most(void **state)
{
    (void)state;
    uint64_t pause_ms = 100;
    for (int i = 0; i < 10; i++, pause_ms += pause_ms / 2) {
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
    assert_int_equal(sh_silence_limit_ms(&silence, false), 3000);
    assert_int_equal(sh_silence_limit_ms(&silence, true), 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_keeps_its_time_gets_the_least, begin),
        cmocka_unit_test_setup(a_slow_one_gets_twice_its_longest_pause, begin),
        cmocka_unit_test_setup(a_pause_is_forgotten, begin),
        cmocka_unit_test_setup(no_limit_is_above_the_most, begin),
        cmocka_unit_test_setup(one_that_nobody_waits_for_has_time, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
