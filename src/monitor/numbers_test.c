/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/numbers.h"

#include <math.h>

#include "base/test.h"

static void reads_one_number_after_another(void **state)
{
    (void)state;
    const char *at = " 12\t-3 4.250\n5";
    assert_float_equal(sh_numbers_next(&at), 12, 0);
    assert_float_equal(sh_numbers_next(&at), -3, 0);
    assert_float_equal(sh_numbers_next(&at), 4.25, 0);
    assert_true(isnan(sh_numbers_next(&at)));
    assert_string_equal(at, "\n5");
}

static void what_is_no_number_is_not_available(void **state)
{
    (void)state;
    static const char *const texts[] = {"",   " ",    "-",   "x",   "12x", "1.",  "1.x",
                                        "+1", "0x10", "nan", "1,5", "--1", "inf", "1e3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *at = texts[i];
        if (!isnan(sh_numbers_next(&at)) || at != texts[i])
            fail_msg("'%s' was taken for a number", texts[i]);
    }
}

static void large_counters_are_exact(void **state)
{
    (void)state;
    const char *at = "9007199254740992";
    assert_true(sh_numbers_next(&at) == 9007199254740992.0);
    at = "1341991655104";
    assert_true(sh_numbers_next(&at) == 1341991655104.0);
}

static void a_field_is_a_whole_word_at_the_beginning_of_a_line(void **state)
{
    (void)state;
    static const char text[] = "VmRSSold: 1 kB\nxVmRSS: 2 kB\nVmRSS:\t   3 kB\nVmRSS: 4 kB\n"
                               "bad: kB\nthrottled_time 5";
    assert_float_equal(sh_numbers_field(text, "VmRSS:"), 3, 0);
    assert_float_equal(sh_numbers_field(text, "throttled_time"), 5, 0);
    assert_true(isnan(sh_numbers_field(text, "throttled")));
    assert_true(isnan(sh_numbers_field(text, "bad:")));
    assert_true(isnan(sh_numbers_field(text, "VmHWM:")));
    assert_true(isnan(sh_numbers_field("", "VmHWM:")));
    assert_true(isnan(sh_numbers_field("VmHWM:", "VmHWM:")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_number_after_another),
        cmocka_unit_test(what_is_no_number_is_not_available),
        cmocka_unit_test(large_counters_are_exact),
        cmocka_unit_test(a_field_is_a_whole_word_at_the_beginning_of_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
