/* SPDX-License-Identifier: Apache-2.0 */
#include "data/description.h"

#include "base/test.h"

static void names_and_units_are_found(void **state)
{
    (void)state;
    char number[SH_DESCRIPTION_NUMBER];
    json_t *all = sh_description_read("{\"classes\": [\"rose\", 7], \"notes\": [\"old\"], "
                                      "\"targets\": [{\"name\": \"price\", \"mean\": 3, "
                                      "\"deviation\": 0.5}, {\"mean\": \"x\"}]}");
    assert_non_null(all);
    assert_string_equal(sh_description_name(all, SH_TARGET_CLASS, 0, number), "rose");
    assert_string_equal(sh_description_name(all, SH_TARGET_LABELS, 1, number), "1");
    assert_string_equal(sh_description_name(all, SH_TARGET_CLASS, 4000000000u, number),
                        "4000000000");
    assert_string_equal(sh_description_name(all, SH_TARGET_NUMBERS, 0, number), "price");
    const sh_target_scale price = sh_description_scale(all, 0),
                          other = sh_description_scale(all, 1);
    assert_true(price.mean == 3 && price.deviation == 0.5);
    assert_true(other.mean == 0 && other.deviation == 1);
    assert_int_equal(json_array_size(sh_description_notes(all)), 1);
    json_decref(all);
}

static void what_is_not_there_has_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {NULL, "", "[", "[1]", "{}", "{\"classes\": {\"a\": 1}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char number[SH_DESCRIPTION_NUMBER];
        json_t *all = sh_description_read(texts[i]);
        assert_string_equal(sh_description_name(all, SH_TARGET_CLASS, 2, number), "2");
        assert_true(sh_description_scale(all, 0).deviation == 1);
        assert_null(sh_description_notes(all));
        json_decref(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_units_are_found),
        cmocka_unit_test(what_is_not_there_has_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
