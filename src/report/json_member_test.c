/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json_member.h"

#include <math.h>

#include "base/test.h"

static void missing_members_have_values(void **state)
{
    (void)state;
    json_t *object =
        json_pack("{s:s, s:f, s:i, s:n}", "text", "rose", "real", 0.5, "whole", 3, "null");
    assert_non_null(object);
    assert_string_equal(sh_member_text(object, "text"), "rose");
    assert_string_equal(sh_member_text(object, "real"), "");
    assert_string_equal(sh_member_text(object, "missing"), "");
    assert_string_equal(sh_member_text(NULL, "text"), "");
    assert_true(sh_member_number(object, "real") == 0.5);
    assert_true(sh_member_number(object, "whole") == 3);
    assert_true(isnan(sh_member_number(object, "text")));
    assert_true(isnan(sh_member_number(object, "null")));
    assert_true(isnan(sh_member_number(NULL, "real")));
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_members_have_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
