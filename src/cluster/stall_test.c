/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/stall.h"

#include "base/test.h"

static sh_stall stall;
static uint64_t now_ms, progress;

static int begin(void **state)
{
    (void)state;
    now_ms = 5000;
    progress = 7;
    sh_stall_begin(&stall, now_ms);
    return 0;
}

/* Reports work every 100 ms, with progress after each `pause_ms`; 0: none. */
static void work(uint64_t for_ms, uint64_t pause_ms)
{
    for (uint64_t passed = 100; passed <= for_ms; passed += 100) {
        now_ms += 100;
        progress += pause_ms > 0 && passed % pause_ms == 0;
        sh_stall_note(&stall, progress, true, now_ms);
    }
}

static void wait(uint64_t for_ms)
{
    for (uint64_t passed = 100; passed <= for_ms; passed += 100) {
        now_ms += 100;
        sh_stall_note(&stall, progress, false, now_ms);
    }
}

static bool hangs(void)
{
    return sh_stall_ms(&stall, now_ms) >= sh_stall_limit_ms(&stall);
}

static void one_that_gets_on_never_hangs(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        work(400, 200);
        assert_false(hangs());
        wait(300);
        assert_false(hangs());
    }
    assert_int_equal(sh_stall_limit_ms(&stall), 4000);
}

static void one_that_waits_for_others_never_hangs(void **state)
{
    (void)state;
    work(1000, 100);
    wait(1000000);
    assert_false(hangs());
    assert_int_equal(sh_stall_ms(&stall, now_ms), 0);
    work(3900, 0);
    assert_false(hangs());
    work(200, 0);
    assert_true(hangs());
}

static void one_that_works_and_does_not_get_on_hangs(void **state)
{
    (void)state;
    work(1000, 100);
    work(3900, 0);
    assert_false(hangs());
    work(100, 0);
    assert_true(hangs());
    work(100, 100);
    assert_false(hangs());
}

static void silence_at_work_is_a_standstill(void **state)
{
    (void)state;
    work(1000, 100);
    now_ms += 6000;
    assert_int_equal(sh_stall_ms(&stall, now_ms), 6000);
    assert_true(hangs());
}

static void a_slow_one_gets_the_time_that_it_takes(void **state)
{
    (void)state;
    work(8000, 2000);
    assert_int_equal(sh_stall_limit_ms(&stall), 8000);
    work(7900, 0);
    assert_false(hangs());
    work(100, 0);
    assert_true(hangs());
}

static void a_pause_before_a_wait_counts(void **state)
{
    (void)state;
    work(100, 100);
    work(2900, 0);
    wait(100);
    assert_int_equal(sh_stall_limit_ms(&stall), 6000);
}

static void the_second_longest_pause_shows_that_it_is_slow(void **state)
{
    (void)state;
    work(100, 100);
    work(2500, 2500);
    assert_int_equal(sh_stall_limit_ms(&stall), 5000);
    work(2000, 2000);
    assert_int_equal(sh_stall_limit_ms(&stall), 8000);
    work(3000, 3000);
    assert_int_equal(sh_stall_limit_ms(&stall), 10000);
}

static void one_long_hang_is_no_measure(void **state)
{
    (void)state;
    work(100, 100);
    work(60000, 60000);
    assert_int_equal(sh_stall_limit_ms(&stall), 8000);
}

/* Each pause occurs twice and is three times the previous one. */
static void one_that_becomes_slower_does_not_hang(void **state)
{
    (void)state;
    work(4000, 1000);
    for (uint64_t pause_ms = 3000; pause_ms < 3000000; pause_ms *= 3)
        for (int i = 0; i < 2; i++) {
            work(pause_ms - 100, 0);
            assert_false(hangs());
            work(100, 100);
        }
}

static void a_long_pause_is_forgotten_at_work(void **state)
{
    (void)state;
    work(100, 100);
    work(6000, 3000);
    wait(1000000);
    work(100, 100);
    assert_int_equal(sh_stall_limit_ms(&stall), 12000);
    work(56000, 100);
    assert_int_equal(sh_stall_limit_ms(&stall), 12000);
    work(65000, 100);
    assert_int_equal(sh_stall_limit_ms(&stall), 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_gets_on_never_hangs, begin),
        cmocka_unit_test_setup(one_that_waits_for_others_never_hangs, begin),
        cmocka_unit_test_setup(one_that_works_and_does_not_get_on_hangs, begin),
        cmocka_unit_test_setup(silence_at_work_is_a_standstill, begin),
        cmocka_unit_test_setup(a_slow_one_gets_the_time_that_it_takes, begin),
        cmocka_unit_test_setup(a_pause_before_a_wait_counts, begin),
        cmocka_unit_test_setup(the_second_longest_pause_shows_that_it_is_slow, begin),
        cmocka_unit_test_setup(one_long_hang_is_no_measure, begin),
        cmocka_unit_test_setup(one_that_becomes_slower_does_not_hang, begin),
        cmocka_unit_test_setup(a_long_pause_is_forgotten_at_work, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
