/* SPDX-License-Identifier: Apache-2.0 */
#include "report/quality.h"

#include "base/scratch.h"

static char *written(const char *json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    sh_sheet sheet = {.file = file, .format = SH_REPORT_markdown};
    json_t *quality = json == NULL ? NULL : json_loads(json, 0, NULL);
    sh_quality_write(&sheet, quality);
    json_decref(quality);
    fclose(file);
    return text;
}

static void expect(const char *json, const char *part)
{
    char *text = written(json);
    if (strstr(text, part) == NULL)
        fail_msg("'%s' lacks '%s'", text, part);
    free(text);
}

static void classes_have_a_table(void **state)
{
    (void)state;
    static const char json[] =
        "{\"classes\": [{\"name\": \"rose\", \"samples\": 40, \"answers\": 41, \"precision\": 0.5, "
        "\"recall\": null, \"f1\": 1}, {\"name\": \"<b>\"}], \"confusion\": [[39, 1], [2, 318]]}";
    expect(json, "Validation samples of each class");
    expect(json, "| rose | 40 | 41 | 50.00 % | not available | 100.00 % |");
    expect(json, "Samples of each class (rows) by the model's answer (columns)");
    expect(json, "| rose | 39 | 1 |");
    expect(json, "| 2 | 318 |");
}

static void targets_have_a_table(void **state)
{
    (void)state;
    expect("{\"targets\": [{\"name\": \"price\", \"mae\": 3.25, \"rmse\": 4e7, \"r2\": null}]}",
           "| price | 3.25 | 4e+07 | not available |");
}

static void what_is_missing_is_left_out(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL, "{}", "[]", "{\"classes\": 3, \"confusion\": []}"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        char *text = written(nothing[i]);
        assert_string_equal(text, "");
        free(text);
    }
    expect("{\"confusion\": [[1, \"x\"], 7]}", "| 1 | 0 |");
}

static void files_are_read(void **state)
{
    (void)state;
    char path[SCRATCH_BYTES + 32];
    json_t *quality;
    assert_ok(sh_quality_read(&quality, scratch_folder));
    assert_null(quality);
    snprintf(path, sizeof path, "%s/" SH_QUALITY_FILE, scratch_folder);
    scratch_write(path, "{\"a\": 1}", 8);
    assert_ok(sh_quality_read(&quality, scratch_folder));
    assert_non_null(json_object_get(quality, "a"));
    json_decref(quality);
    scratch_write(path, "{\"a\": ", 6);
    assert_fails(sh_quality_read(&quality, scratch_folder), SH_FORMAT, "metrics.json: is not JSON");
    assert_null(quality);
    assert_ok(sh_quality_read(&quality, path)); /* a file */
    assert_null(quality);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_a_table),
        cmocka_unit_test(targets_have_a_table),
        cmocka_unit_test(what_is_missing_is_left_out),
        cmocka_unit_test_setup_teardown(files_are_read, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
