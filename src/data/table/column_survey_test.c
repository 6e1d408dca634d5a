/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/column_survey.h"

#include "data/fixture.h"

static fixture place;

static int set_up(void **state)
{
    (void)state;
    fixture_new(&place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_remove(&place);
    return 0;
}

static sh_status survey_text(sh_survey *survey, const char *text, const char *target)
{
    sh_csv *csv;
    fixture_write(&place, "t.csv", text, strlen(text));
    assert_ok(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 0));
    const sh_status status = sh_survey_make(survey, csv, target);
    sh_csv_close(csv);
    return status;
}

static void columns_are_told_apart(void **state)
{
    (void)state;
    sh_survey s;
    assert_ok(survey_text(&s,
                          "id,colour,day,none,mixed\n1,red,2024-01-01,,1\n2.5,blue,?,NA,x\n"
                          "?,red,2024-01-02,,2\n",
                          NULL));
    assert_true(s.header);
    assert_int_equal(s.rows, 3);
    assert_int_equal(s.count, 5);
    static const sh_kind kinds[] = {SH_KIND_NUMBER, SH_KIND_CATEGORY, SH_KIND_DATE, SH_KIND_NOTHING,
                                    SH_KIND_CATEGORY};
    for (size_t i = 0; i < s.count; i++)
        assert_int_equal(sh_column_kind(&s.columns[i]), kinds[i]);
    assert_string_equal(s.columns[1].name, "colour");
    assert_int_equal(s.columns[1].words.count, 2);
    assert_string_equal(s.columns[1].words.texts[0], "blue");
    assert_int_equal(s.columns[0].counts[SH_CELL_MISSING], 1);
    assert_int_equal(s.columns[0].whole, 1);
    assert_int_equal(sh_column_present(&s.columns[0]), 2);
    assert_int_equal(s.columns[4].lines[SH_CELL_WORD], 3);
    assert_string_equal(s.columns[4].odd, "x");
    sh_survey_release(&s);
}

static void headers_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool header;
    } cases[] = {
        {"a,b\n1,2\n", true},
        {"1,2\n3,4\n", false},
        {"a,b\nx,1\ny,2\n", true},
        {"x,1\ny,2\nx,3\n", false},
        {"colour,size\nred,big\nblue,small\n", true},
        {"x,o,x\no,x,x\nx,x,o\n", false}, /* its words also occur below */
        {"red,red\nblue,green\n", false}, /* the same word twice */
        {"when,x\n2024-01-01,a\n", true},
        {"2024-01-02,a\n2024-01-01,b\n", false},
        {"-,2,3\n1,2,3\n4,5,6\n", false}, /* one word is not enough */
        {",b\n1,2\n", false},
        {"?,b\n1,x\n2,y\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_survey s;
        assert_ok(survey_text(&s, cases[i].text, NULL));
        if (s.header != cases[i].header)
            fail_msg("%s: header: %d", cases[i].text, s.header);
        assert_string_equal(s.columns[1].name, s.header ? s.columns[1].name : "2");
        sh_survey_release(&s);
    }
}

static void columns_are_found(void **state)
{
    (void)state;
    sh_survey s;
    uint32_t column = 9;
    assert_ok(survey_text(&s, "a,3,c\n1,p,x\n3,q,y\n", NULL));
    assert_true(sh_survey_find(&column, &s, "c"));
    assert_int_equal(column, 2);
    assert_true(sh_survey_find(&column, &s, "3")); /* names come before numbers */
    assert_int_equal(column, 1);
    assert_true(sh_survey_find(&column, &s, "1"));
    assert_int_equal(column, 0);
    assert_false(sh_survey_find(&column, &s, "0"));
    assert_false(sh_survey_find(&column, &s, "4"));
    assert_false(sh_survey_find(&column, &s, "1.5"));
    assert_false(sh_survey_find(&column, &s, "A"));
    sh_survey_release(&s);
}

static void different_values_are_kept(void **state)
{
    (void)state;
    char *text = malloc(1 << 20);
    size_t used = 0;
    assert_non_null(text);
    for (int i = 0; i < 5000; i++)
        used += (size_t)snprintf(text + used, 64, "%d,w%d,v%d\n", i, i, i);
    for (int target = 0; target < 2; target++) {
        sh_survey s;
        assert_ok(survey_text(&s, text, target == 0 ? NULL : "1,2"));
        assert_int_equal(s.columns[0].many, target == 0);
        assert_int_equal(s.columns[1].many, target == 0);
        assert_int_equal(s.columns[2].many, target == 1);
        assert_int_equal(s.columns[0].words.count, target == 0 ? 0 : 5000);
        sh_survey_release(&s);
    }
    free(text);
}

static void too_few_rows_are_refused(void **state)
{
    (void)state;
    sh_survey s;
    assert_fails(survey_text(&s, "\n\n", NULL), SH_FORMAT, "t.csv: holds no row");
    assert_fails(survey_text(&s, "\na,b\n", NULL), SH_FORMAT,
                 "t.csv: has a header in line 2 and no row below it");
    assert_fails(survey_text(&s, "1,b\n", NULL), SH_FORMAT, "t.csv: has only one row, in line 1");
    assert_fails(survey_text(&s, "a,b\n1\n1\n", NULL), SH_FORMAT, "--skip-lines 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(columns_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(headers_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(different_values_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_few_rows_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
