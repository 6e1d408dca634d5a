/* SPDX-License-Identifier: Apache-2.0 */
#include "node/delivery/slow_source.h"

#include "base/test.h"

static void one_that_owes_and_gives_nothing_is_counted(void **state)
{
    (void)state;
    sh_slow_source slow = {0};
    for (uint32_t i = 1; i <= 9; i++)
        assert_int_equal(sh_slow_source_look(&slow, true, 0), i);
    assert_int_equal(sh_slow_source_look(&slow, false, 0), 0); /* nothing owed */
    assert_int_equal(sh_slow_source_look(&slow, true, 0), 1);
}

/* A byte per tick counts as nothing. */
static void one_that_trickles_is_counted_too(void **state)
{
    (void)state;
    sh_slow_source slow = {0};
    for (uint32_t i = 1; i <= 100; i++)
        assert_int_equal(sh_slow_source_look(&slow, true, i), i);
    assert_int_equal(sh_slow_source_look(&slow, true, SH_SLOW_SOURCE_CRUMB - 1), 101);
    assert_int_equal(sh_slow_source_look(&slow, true, SH_SLOW_SOURCE_CRUMB), 0);
    assert_int_equal(sh_slow_source_look(&slow, true, SH_SLOW_SOURCE_CRUMB + 10), 1);
    assert_int_equal(sh_slow_source_look(&slow, true, 2 * SH_SLOW_SOURCE_CRUMB), 0);
}

static void one_that_was_dropped_rests_longer_each_time(void **state)
{
    (void)state;
    sh_slow_source slow = {0};
    assert_false(sh_slow_source_is_paused(&slow));
    for (uint32_t rest = 4; rest <= 256; rest *= 2) {
        sh_slow_source_drop(&slow);
        sh_slow_source_end(&slow);
        for (uint32_t i = 0; i < rest; i++)
            assert_true(sh_slow_source_is_paused(&slow));
        assert_false(sh_slow_source_is_paused(&slow));
    }
    sh_slow_source_drop(&slow);
    assert_int_equal(slow.rest, 256);
}

static void another_connection_counts_from_the_beginning(void **state)
{
    (void)state;
    sh_slow_source slow = {0};
    (void)sh_slow_source_look(&slow, true, 1000000);
    sh_slow_source_end(&slow);
    assert_int_equal(sh_slow_source_look(&slow, true, 100), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_owes_and_gives_nothing_is_counted),
        cmocka_unit_test(one_that_trickles_is_counted_too),
        cmocka_unit_test(one_that_was_dropped_rests_longer_each_time),
        cmocka_unit_test(another_connection_counts_from_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
