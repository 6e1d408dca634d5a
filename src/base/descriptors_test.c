/* SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptors.h"

#include <sys/resource.h>

#include "base/test.h"

static void raises_to_what_is_allowed(void **state)
{
    (void)state;
    struct rlimit before, now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlim_t expected =
        before.rlim_max < SH_DESCRIPTORS_MOST ? before.rlim_max : SH_DESCRIPTORS_MOST;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, before.rlim_max}), 0);
    sh_descriptors_raise();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_true(now.rlim_cur == expected && now.rlim_max == before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){before.rlim_max, before.rlim_max}),
                     0);
    sh_descriptors_raise();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    assert_true(now.rlim_cur == before.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void keeps_a_reserve(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, before.rlim_max}), 0);
    /* Descriptors are 0 .. 99: with 67 the newest, 68 .. 99 are left. */
    assert_false(sh_descriptors_are_short(66));
    assert_false(sh_descriptors_are_short(67));
    assert_true(sh_descriptors_are_short(68));
    assert_true(sh_descriptors_are_short(99));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raises_to_what_is_allowed),
        cmocka_unit_test(keeps_a_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
