/* SPDX-License-Identifier: Apache-2.0 */
#include "report/worst.h"

#include "base/scratch.h"
#include "shoal/eval.h"
#include "store/run.h"

static const char some[] =
    "{\"split\": \"validation\", \"samples\": ["
    "{\"index\": 17, \"target\": \"<b>\", \"answer\": \"tulip|\", \"probability\": 0.93,"
    " \"loss\": 4.125, \"picture\": {\"kind\": \"text\", \"text\": \"<b>x\"}},"
    "{\"index\": 3, \"target\": \"a, b\", \"answer\": \"\", \"probability\": null, \"loss\": 1},"
    "{\"index\": 4, \"target\": null, \"answer\": null, \"loss\": 0.5}, 7]}";

static char *written(const char *json, sh_report_format format)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    json_t *worst = json == NULL ? NULL : json_loads(json, 0, NULL);
    assert_non_null(file);
    sh_worst_write(&(sh_sheet){.file = file, .format = format}, worst);
    json_decref(worst);
    fclose(file);
    return text;
}

static void expect(const char *json, sh_report_format format, const char *part)
{
    char *text = written(json, format);
    if (strstr(text, part) == NULL || strstr(text, "<b>") != NULL)
        fail_msg("'%s' lacks '%s'", text, part);
    free(text);
}

static void pages_show_pictures(void **state)
{
    (void)state;
    expect(some, SH_REPORT_html,
           "<figure><pre>&#60;b&#62;x</pre><figcaption>validation 17 "
           "<small>is &#60;b&#62;, answer tulip| with 93.00 %, loss 4.1250"
           "</small></figcaption></figure>");
    expect(some, SH_REPORT_html,
           "<p>no picture</p><figcaption>validation 3 "
           "<small>is a, b, answer , loss 1.0000</small>");
    expect(some, SH_REPORT_html, "validation 4 <small>loss 0.5000</small>");
    expect(NULL, SH_REPORT_html, "this run has no worst.json, which a training writes at its end");
    expect("{\"samples\": 3}", SH_REPORT_html, "No worst samples to show");
}

static void other_formats_have_a_table(void **state)
{
    (void)state;
    expect(some, SH_REPORT_markdown, "| 17 | \\<b\\> | tulip\\| | 93.00 % | 4.1250 |");
    expect(some, SH_REPORT_markdown, "| 4 |  |  | not available | 0.5000 |");
    char *text = written(NULL, SH_REPORT_text);
    assert_string_equal(text, "");
    free(text);
}

static void a_page_stands_alone(void **state)
{
    (void)state;
    char *html;
    assert_ok(sh_eval_page(&html, some, "lenet <on> x"));
    assert_non_null(strstr(html, "<title>lenet &#60;on&#62; x</title>"));
    assert_non_null(strstr(html, "validation 17"));
    assert_null(strstr(html, "{{"));
    free(html);
    assert_fails(sh_eval_page(&html, "[]", ""), SH_FORMAT, "not a JSON object");
}

static void files_are_read(void **state)
{
    (void)state;
    char path[SCRATCH_BYTES + 32];
    json_t *worst;
    assert_ok(sh_worst_read(&worst, scratch_folder));
    assert_null(worst);
    snprintf(path, sizeof path, "%s/" SH_RUN_PICTURES, scratch_folder);
    scratch_write(path, some, strlen(some));
    assert_ok(sh_worst_read(&worst, scratch_folder));
    assert_int_equal(json_array_size(json_object_get(worst, "samples")), 4);
    json_decref(worst);
    scratch_write(path, "{\"a\": ", 6);
    assert_fails(sh_worst_read(&worst, scratch_folder), SH_FORMAT, "worst.json: is not JSON");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_show_pictures),
        cmocka_unit_test(other_formats_have_a_table),
        cmocka_unit_test(a_page_stands_alone),
        cmocka_unit_test_setup_teardown(files_are_read, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
