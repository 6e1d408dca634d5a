/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static void prints(sh_table *table, const char *margin, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_true(sh_table_print(table, file, margin));
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    static const char *const cells[] = {"device", "grains", "caf\xc3\xa9",
                                        "7",      "a\nb",   "1,234,567"};
    sh_table *table = sh_table_new("<>", cells);
    for (size_t i = 2; i < sizeof cells / sizeof *cells; i++)
        sh_table_add(table, cells[i]);
    prints(table, "  ",
           "  device     grains\n"
           "  caf\xc3\xa9            7\n"
           "  a?b     1,234,567\n");
}

static void a_left_column_at_the_end_has_no_spaces_behind_it(void **state)
{
    (void)state;
    sh_table *table = sh_table_new("<<", NULL);
    sh_table_add(table, "a");
    sh_table_add(table, "long text");
    sh_table_add(table, "b");
    sh_table_add(table, "short");
    prints(table, "", "a  long text\nb  short\n");
}

static void numbers_and_formats(void **state)
{
    (void)state;
    sh_table *table = sh_table_new(">>", NULL);
    sh_table_number(table, 2.25, 1);
    sh_table_number(table, NAN, 1);
    sh_table_format(table, "%d%s", 7, "x");
    sh_table_number(table, -INFINITY, 0);
    prints(table, "", "2.2  -\n 7x  -\n");
}

static void many_rows_and_none(void **state)
{
    (void)state;
    sh_table *table = sh_table_new("<", NULL);
    prints(table, "", "");
    table = sh_table_new("<", NULL);
    for (int i = 0; i < 1000; i++)
        sh_table_add(table, "x");
    char expected[2001];
    for (size_t i = 0; i < 2000; i++)
        expected[i] = i % 2 == 0 ? 'x' : '\n';
    expected[2000] = '\0';
    prints(table, "", expected);
    assert_false(sh_table_print(NULL, stdout, ""));
    sh_table_add(NULL, "x");
    sh_table_free(NULL);
}

static void cells_are_there_for_other_ways_to_print(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sh_table *table = sh_table_new("<<", NULL);
    sh_table_add(table, "x");
    sh_table_add(table, text);
    assert_string_equal(sh_table_cell(table, 0), "x");
    assert_string_equal(sh_table_cell(table, 1), text);
    assert_null(sh_table_cell(table, 2));
    assert_null(sh_table_cell(NULL, 0));
    sh_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(a_left_column_at_the_end_has_no_spaces_behind_it),
        cmocka_unit_test(numbers_and_formats),
        cmocka_unit_test(many_rows_and_none),
        cmocka_unit_test(cells_are_there_for_other_ways_to_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
