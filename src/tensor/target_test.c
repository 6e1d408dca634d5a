/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/target.h"

#include "base/test.h"

static void names_and_back(void **state)
{
    (void)state;
    sh_target found = SH_TARGET_SAMPLE;
    for (int i = 0; i < SH_TARGETS; i++) {
        assert_true(sh_target_find(&found, sh_target_name((sh_target)i)));
        assert_int_equal(found, i);
    }
    assert_false(sh_target_find(&found, "Regression"));
    assert_int_equal(found, SH_TARGET_SAMPLE);
}

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(sh_target_bytes(SH_TARGET_CLASS, 10), 4);
    assert_int_equal(sh_target_bytes(SH_TARGET_LABELS, 10), 40);
    assert_int_equal(sh_target_bytes(SH_TARGET_NUMBERS, 3), 12);
    assert_int_equal(sh_target_bytes(SH_TARGET_SAMPLE, 784), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_back),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
