/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/backoff.h"

#include "base/test.h"

#define MS UINT64_C(1000000)
#define BEGAN (77 * MS)

static void delays_grow_up_to_the_longest(void **state)
{
    (void)state;
    static const uint32_t delays_ms[] = {250, 500, 1000, 2000, 4000, 4000, 4000};
    sh_backoff backoff;
    uint64_t now_ns = BEGAN;
    sh_backoff_start(&backoff, now_ns, UINT32_MAX);
    for (size_t i = 0; i < sizeof delays_ms / sizeof *delays_ms; i++) {
        uint32_t delay_ms = 0;
        assert_true(sh_backoff_next(&delay_ms, &backoff, now_ns));
        assert_int_equal(delay_ms, delays_ms[i]);
        now_ns += delay_ms * MS;
    }
    uint32_t delay_ms = 0;
    assert_true(sh_backoff_next(&delay_ms, &backoff, now_ns + 31536000000 * MS));
    assert_int_equal(delay_ms, SH_BACKOFF_LONGEST_MS);
}

static void the_last_try_is_made_when_the_time_ends(void **state)
{
    (void)state;
    sh_backoff backoff;
    uint32_t delay_ms = 0;
    uint64_t now_ns = BEGAN;
    unsigned tries = 1;
    sh_backoff_start(&backoff, now_ns, 2);
    while (sh_backoff_next(&delay_ms, &backoff, now_ns)) {
        now_ns += delay_ms * MS;
        tries++;
    }
    assert_int_equal(now_ns, BEGAN + 2000 * MS);
    assert_int_equal(tries, 5); /* after 0, 250, 750, 1750 and 2000 ms */
}

static void the_time_of_tries_counts(void **state)
{
    (void)state;
    sh_backoff backoff;
    uint32_t delay_ms = 0;
    sh_backoff_start(&backoff, BEGAN, 10);
    assert_true(sh_backoff_next(&delay_ms, &backoff, BEGAN + 9999 * MS + 1));
    assert_int_equal(delay_ms, 1);
    assert_false(sh_backoff_next(&delay_ms, &backoff, BEGAN + 10000 * MS));
}

static void without_a_wait_there_is_one_try(void **state)
{
    (void)state;
    sh_backoff backoff;
    uint32_t delay_ms = 0;
    sh_backoff_start(&backoff, BEGAN, 0);
    assert_false(sh_backoff_next(&delay_ms, &backoff, BEGAN));
    assert_int_equal(delay_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_grow_up_to_the_longest),
        cmocka_unit_test(the_last_try_is_made_when_the_time_ends),
        cmocka_unit_test(the_time_of_tries_counts),
        cmocka_unit_test(without_a_wait_there_is_one_try),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
