/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/table_trained.h"

#include <stdio.h>
#include <string.h>

#include "base/scratch.h"

#define TEXT                                                                                       \
    "{\"format\": \"table\", \"channels\": 1, \"height\": 1, \"width\": 3, \"element\": "          \
    "\"float\", \"target\": \"classification\", \"outputs\": 2, \"samples\": [8, 2], \"mean\": "   \
    "[], \"deviation\": [], \"fingerprint\": \"ab\", \"description\": {\"classes\": [\"small\", "  \
    "\"big\"], \"target\": \"size\", \"inputs\": [{\"name\": \"age\", \"column\": 1, \"kind\": "   \
    "\"number\", \"mean\": 10.0, \"deviation\": 2.0, \"median\": 9.0, \"missing\": false}, "       \
    "{\"name\": \"colour\", \"column\": 2, \"kind\": \"category\", \"categories\": [\"red\", "     \
    "\"blue\"]}]}}"

/* The caller releases the plan. */
static sh_status plan_of(sh_table_plan *plan, json_t *notes, const char *lines)
{
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 8];
    sh_csv *csv;
    sh_survey survey;
    sh_trained *trained;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/t.csv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(lines, file);
    assert_int_equal(fclose(file), 0);
    assert_ok(sh_csv_open(&csv, path, 0));
    assert_ok(sh_survey_make(&survey, csv, NULL));
    assert_ok(sh_trained_parse(&trained, TEXT));
    const sh_read_options options = {.trained = trained};
    const sh_status status = sh_table_plan_as_trained(plan, &survey, notes, &options);
    sh_trained_free(trained);
    sh_survey_release(&survey);
    sh_csv_close(csv);
    scratch_remove(folder);
    return status;
}

static void columns_are_found_by_name(void **state)
{
    (void)state;
    sh_table_plan plan;
    json_t *notes = json_array();
    assert_ok(plan_of(&plan, notes, "size,colour,more,age\nbig,red,5,1\nsmall,blue,6,2\n"));
    assert_int_equal(plan.task, SH_TARGET_CLASS);
    assert_int_equal(plan.input_count, 2);
    assert_int_equal(plan.inputs[0].column, 3);
    assert_true(plan.inputs[0].mean == 10 && plan.inputs[0].deviation == 2);
    assert_int_equal(plan.inputs[1].column, 1);
    assert_string_equal(plan.inputs[1].words.texts[0], "red");
    assert_int_equal(plan.target_count, 1);
    assert_int_equal(plan.targets[0].column, 0);
    assert_string_equal(plan.targets[0].words.texts[0], "small");
    assert_string_equal(json_string_value(json_array_get(notes, 0)),
                        "columns that the run does not use, left out: more");
    sh_table_plan_release(&plan);
    json_decref(notes);
}

static void missing_columns_are_named(void **state)
{
    (void)state;
    sh_table_plan plan;
    json_t *notes = json_array();
    assert_fails(plan_of(&plan, notes, "size,more\nbig,1\nsmall,2\n"), SH_NOT_FOUND,
                 "columns that the run was trained with are missing: age, colour");
    assert_fails(plan_of(&plan, notes, "1,2\n3,4\n"), SH_NOT_FOUND, "there is no header");
    assert_fails(plan_of(&plan, notes, "colour,age\nred,1\nblue,2\n"), SH_NOT_FOUND,
                 "there is no column 'size', the target");
    json_decref(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_name),
        cmocka_unit_test(missing_columns_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
