/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/notes.h"

#include "base/test.h"

static void long_lists_are_cut(void **state)
{
    (void)state;
    sh_names names = {0};
    assert_string_equal(sh_names_end(&names), "");
    sh_names_add(&names, "%s", "a\nb");
    sh_names_add(&names, "%s (%d)", "c", 3);
    assert_string_equal(sh_names_end(&names), "a?b, c (3)");
    for (int i = 0; i < 1000; i++)
        sh_names_add(&names, "column %d", i);
    assert_int_equal(names.count, 1002);
    const char *text = sh_names_end(&names);
    char end[32];
    snprintf(end, sizeof end, " and %u more", names.left_out);
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

static void notes_are_lines(void **state)
{
    (void)state;
    char text[4000];
    json_t *notes = json_array();
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_ok(sh_notes_add(notes, "one\n%s", "\xff two"));
    assert_ok(sh_notes_add(notes, "%s", text));
    assert_int_equal(json_array_size(notes), 2);
    assert_string_equal(json_string_value(json_array_get(notes, 0)), "one?? two");
    json_decref(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(notes_are_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
