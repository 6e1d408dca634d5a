/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/table_plan.h"

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

static sh_status plan_text(sh_table_plan *plan, char **notes, const char *text,
                           const sh_read_options *options)
{
    sh_csv *csv;
    sh_survey survey;
    json_t *list = json_array();
    fixture_write(&place, "t.csv", text, strlen(text));
    assert_ok(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 0));
    assert_ok(sh_survey_make(&survey, csv, options->target));
    const sh_status status = sh_table_plan_make(plan, &survey, list, options);
    if (notes != NULL)
        *notes = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    sh_survey_release(&survey);
    sh_csv_close(csv);
    return status;
}

static void tasks_follow_the_targets(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target, *task;
        sh_target expected;
    } cases[] = {
        {"a,b\n1,x\n2,y\n", "", "", SH_TARGET_CLASS},
        {"a,b\n1,0\n2,1\n", "", "", SH_TARGET_CLASS},
        {"a,b\n1,0\n2,1.0\n3,?\n", "", "", SH_TARGET_CLASS},
        {"a,b\n1,0\n2,1.5\n", "", "", SH_TARGET_NUMBERS},
        {"a,b\n1,2024-01-01\n2,2024-01-02\n", "", "", SH_TARGET_NUMBERS},
        {"a,b\n1,0\n0,1\n", "a,b", "", SH_TARGET_LABELS},
        {"a,b\n1,0\n2,1\n", "a,b", "", SH_TARGET_NUMBERS},
        {"a,b\n1,0\n2,1\n", "b", "regression", SH_TARGET_NUMBERS},
        {"a,b\n1,0\n2,1\n", "b", "multi-label", SH_TARGET_LABELS},
        {"a,b\n1,0.5\n2,1.5\n", "b", "classification", SH_TARGET_CLASS},
        {"a,b\n1,0\n2,1\n", "", "reconstruction", SH_TARGET_SAMPLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_read_options options = {.target = cases[i].target, .task = cases[i].task};
        sh_table_plan plan;
        assert_ok(plan_text(&plan, NULL, cases[i].text, &options));
        assert_int_equal(plan.task, cases[i].expected);
        assert_int_equal(plan.target_count + plan.input_count, 2);
        sh_table_plan_release(&plan);
    }
}

/* 20 distinct whole numbers are classes, 21 are a number. */
static void many_whole_numbers_are_no_classes(void **state)
{
    (void)state;
    char text[1024] = "";
    size_t used = 0;
    for (int i = 0; i < 21; i++) {
        sh_table_plan plan;
        used += (size_t)snprintf(text + used, sizeof text - used, "a,%d\n", 3 * i);
        if (i < 2)
            continue;
        assert_ok(plan_text(&plan, NULL, text, &(sh_read_options){.target = "2"}));
        assert_int_equal(plan.task, i < 20 ? SH_TARGET_CLASS : SH_TARGET_NUMBERS);
        if (i == 10)
            assert_string_equal(plan.targets[0].words.texts[10], "30");
        sh_table_plan_release(&plan);
    }
}

static void inputs_follow_the_columns(void **state)
{
    (void)state;
    static const char text[] = "n,w,d,none,grade,y\n1,a,2024-01-01,,low,0\n2,b,2024-01-02,,high,1\n"
                               "3,b,2024-01-03,,low,1\n";
    static const sh_kind usual[] = {SH_KIND_NUMBER, SH_KIND_CATEGORY, SH_KIND_DATE,
                                    SH_KIND_CATEGORY};
    sh_table_plan plan;
    char *notes;
    assert_ok(plan_text(&plan, &notes, text, &(sh_read_options){0}));
    assert_int_equal(plan.input_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(plan.inputs[i].kind, usual[i]);
    assert_string_equal(notes, "[\"left out, since all values are missing: none\"]");
    free(notes);
    sh_table_plan_release(&plan);

    const sh_read_options options = {.inputs = "n:category,grade:ordinal(low;high)"};
    assert_ok(plan_text(&plan, NULL, text, &options));
    assert_int_equal(plan.input_count, 2);
    assert_int_equal(plan.inputs[0].kind, SH_KIND_CATEGORY);
    assert_int_equal(plan.inputs[0].words.count, 3);
    assert_int_equal(plan.inputs[1].kind, SH_KIND_ORDINAL);
    assert_int_equal(plan.inputs[1].column, 4);
    sh_table_plan_release(&plan);
}

/* Numbers with a decimal comma would otherwise become categories. */
static void commas_in_numbers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *inputs, *message; /* NULL: accepted */
    } cases[] = {
        {"n;y\n1;a\n-0,5;b\n2;a\n", "",
         "line 3: '-0,5' in the column 'n' is a number with a comma; write the column with decimal "
         "points, as in 0.5"},
        {"n;y\n1;1,5\n2;2,5\n", "", "line 2: '1,5' in the column 'y' is a number with a comma"},
        {"n;y\n1,5;a\n2,5;b\n", "n:category", NULL},
        {"n;y\n1,5,6;a\nb,5;b\n", "", NULL},
        {"n;y\n,5;a\n5,;b\n", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_table_plan plan;
        const sh_read_options options = {.inputs = cases[i].inputs};
        const sh_status status = plan_text(&plan, NULL, cases[i].text, &options);
        if (cases[i].message != NULL) {
            assert_fails(status, SH_FORMAT, cases[i].message);
            continue;
        }
        assert_ok(status);
        assert_int_equal(plan.inputs[0].kind, SH_KIND_CATEGORY);
        sh_table_plan_release(&plan);
    }
}

static void names_that_are_there_twice_are_noted(void **state)
{
    (void)state;
    sh_table_plan plan;
    char *notes;
    assert_ok(plan_text(&plan, &notes, "a,b,a,y\n1,2,3,x\n4,5,6,z\n", &(sh_read_options){0}));
    assert_string_equal(notes, "[\"columns whose name another column has: a (column 3)\"]");
    free(notes);
    sh_table_plan_release(&plan);
    assert_fails(plan_text(&plan, NULL, "a,b,a\n1,2,3\n4,5,6\n", &(sh_read_options){.target = "a"}),
                 SH_INVALID,
                 "--target: columns 1 and 3 are both called 'a'; write the number of one");
}

/* A word (of `words` distinct ones), a number and a class. The last word is `odd`. */
static char *many_words(int rows, int words, const char *odd)
{
    char *text = malloc((size_t)rows * 64 + 64);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "w,n,y\n");
    for (int i = 0; i < rows; i++)
        used += (size_t)sprintf(text + used, "word%d,%d,%d\n", i % words, 3 * i, i % 2);
    sprintf(text + used, "word0,%s,0\n", odd);
    return text;
}

static void too_many_categories(void **state)
{
    (void)state;
    sh_table_plan plan;
    char *notes, *text = many_words(200, 65, "7");
    assert_fails(plan_text(&plan, NULL, text, &(sh_read_options){0}), SH_LIMIT,
                 "the column 'w' has more than 64 different values, too many for categories; leave "
                 "it out with --inputs -w");
    assert_ok(plan_text(&plan, NULL, text, &(sh_read_options){.inputs = "-w"}));
    assert_int_equal(plan.input_count, 1);
    sh_table_plan_release(&plan);
    assert_fails(plan_text(&plan, NULL, text, &(sh_read_options){.inputs = "n:category"}), SH_LIMIT,
                 "--inputs -n, or write :number");
    free(text);

    text = many_words(200, 190, "7");
    assert_ok(plan_text(&plan, &notes, text, &(sh_read_options){0}));
    assert_int_equal(plan.input_count, 1);
    assert_string_equal(notes, "[\"left out, since most words differ: w\"]");
    free(notes);
    sh_table_plan_release(&plan);
    assert_fails(plan_text(&plan, NULL, text, &(sh_read_options){.inputs = "w"}), SH_LIMIT,
                 "the column 'w' has more than 64 different values");
    free(text);

    text = many_words(200, 3, "7o");
    assert_fails(plan_text(&plan, NULL, text, &(sh_read_options){0}), SH_FORMAT,
                 "line 202: '7o' is not a number, unlike others in the column 'n'");
    free(text);
}

static void row_numbers_are_noted(void **state)
{
    (void)state;
    for (int header = 0; header < 2; header++) {
        char text[512];
        size_t used = (size_t)snprintf(text, sizeof text, "%s", header ? "id,x,y\n" : "");
        for (int i = 0; i < 12; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%d\n", i + 7, i / 2,
                                     i % 2);
        sh_table_plan plan;
        char *notes;
        assert_ok(plan_text(&plan, &notes, text, &(sh_read_options){0}));
        char expected[128];
        snprintf(expected, sizeof expected,
                 "[\"an input that only numbers the rows; better leave it out with --inputs -NAME: "
                 "%s\"]",
                 header ? "id" : "1");
        assert_string_equal(notes, expected);
        free(notes);
        sh_table_plan_release(&plan);
        assert_ok(plan_text(&plan, &notes, text, &(sh_read_options){.inputs = "1"}));
        assert_string_equal(notes, "[]");
        free(notes);
        sh_table_plan_release(&plan);
    }
}

static void bad_targets_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target, *task;
        sh_status status;
        const char *message;
    } cases[] = {
        {"a,b\n1,?\n2,\n", "", "", SH_FORMAT, "all values of the target 'b' are missing"},
        {"a,b\n1,x\n2,x\n", "", "", SH_FORMAT, "the target 'b' has only one class, 'x'"},
        {"a,b\n1,7\n2,7\n", "", "", SH_FORMAT, "the target 'b' has only one class, '7'"},
        {"a,b\n1,x\n2,y\n", "a,b", "", SH_FORMAT, "'b' holds words, 'x' in line 2"},
        {"a,b\n1,1\n2,2\n", "a,b", "multi-label", SH_FORMAT, "a label is 0 or 1"},
        {"a,b\n1,1\n2,2\n", "a,b", "classification", SH_INVALID, "a class is one column"},
        {"a,b\n1,1\n2,2\n", "", "guess", SH_INVALID, "--task guess: no such task"},
        {"a,b\n1,1\n2,2\n", "c", "", SH_NOT_FOUND, "--target: there is no column 'c'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_read_options options = {.target = cases[i].target, .task = cases[i].task};
        sh_table_plan plan;
        assert_fails(plan_text(&plan, NULL, cases[i].text, &options), cases[i].status,
                     cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tasks_follow_the_targets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_whole_numbers_are_no_classes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inputs_follow_the_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commas_in_numbers_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_are_there_twice_are_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_categories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(row_numbers_are_noted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_targets_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
