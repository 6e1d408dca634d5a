/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diagnostics.h"

#include "base/test.h"

static void none_is_no_failure(void **state)
{
    (void)state;
    const sh_diagnostics bad = {0};
    assert_ok(sh_diagnostics_fail(&bad, SH_INVALID, "there"));
}

static void the_first_are_told_the_others_counted(void **state)
{
    (void)state;
    sh_diagnostics bad = {0};
    sh_diagnostics_add(&bad, "a\nb");
    assert_fails(sh_diagnostics_fail(&bad, SH_INVALID, "th\tere"), SH_INVALID, "th?ere: a?b");
    for (int i = 1; i < SH_DIAGNOSTICS_NAMED; i++)
        sh_diagnostics_add(&bad, "%d", i);
    assert_fails(sh_diagnostics_fail(&bad, SH_FORMAT, "x"), SH_FORMAT, "x: a?b; 1; 2; 3; 4; 5");
    assert_null(strstr(sh_message(), "more"));
    sh_diagnostics_add(&bad, "6");
    sh_diagnostics_add(&bad, "7");
    assert_fails(sh_diagnostics_fail(&bad, SH_FORMAT, "x"), SH_FORMAT, "; 5; and 2 more");
}

static void long_ones_are_cut(void **state)
{
    (void)state;
    sh_diagnostics bad = {0};
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 9; i++)
        sh_diagnostics_add(&bad, "%s", text);
    assert_fails(sh_diagnostics_fail(&bad, SH_INVALID, text), SH_INVALID, "and 3 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_no_failure),
        cmocka_unit_test(the_first_are_told_the_others_counted),
        cmocka_unit_test(long_ones_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
