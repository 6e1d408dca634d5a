/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gallery.h"

#include "base/test.h"

static char *written(const char *json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    json_t *picture = json == NULL ? NULL : json_loads(json, 0, NULL);
    assert_non_null(file);
    assert_true(json == NULL || picture != NULL);
    sh_picture_write(file, picture, "t<i>", "one\n\"two\"");
    json_decref(picture);
    fclose(file);
    return text;
}

static void expect(const char *json, const char *part)
{
    char *text = written(json);
    if (strstr(text, part) == NULL)
        fail_msg("'%s' lacks '%s'", text, part);
    if (strstr(text, "<i>") != NULL || strchr(text, '\n') != strrchr(text, '\n'))
        fail_msg("'%s' is not escaped", text);
    free(text);
}

static void each_kind_is_drawn(void **state)
{
    (void)state;
    expect("{\"kind\": \"image\", \"width\": 28, \"height\": 14, \"png\": \"iVBO+/==\"}",
           "<figure><img class=\"image\" width=\"112\" height=\"56\" alt=\"\" "
           "src=\"data:image/png;base64,iVBO+/==\"><figcaption>t&#60;i&#62; "
           "<small>one?&#34;two&#34;</small></figcaption></figure>");
    expect("{\"kind\": \"heat\", \"width\": 300, \"height\": 1, \"png\": \"iVBO\"}",
           "<img class=\"heat\" width=\"300\" height=\"1\"");
    expect("{\"kind\": \"lines\", \"least\": -1, \"most\": 2.5, \"names\": [\"<i>\"],"
           " \"lines\": [[0, 50, 200], [7]]}",
           "<polyline class=\"line0\" points=\"0,200 200,150 400,0\"/>"
           "<polyline class=\"line1\" points=\"0,193\"/></svg><small>-1 to 2.5: "
           "<span class=\"line0\">&#60;i&#62;</span>");
    expect("{\"kind\": \"values\", \"names\": [\"<i>\"], \"values\": [\"3 <i>\", 7], \"more\": 2}",
           "<table><tr><th scope=\"row\">&#60;i&#62;</th><td class=\"n\">3 &#60;i&#62;</td></tr>"
           "<tr><th scope=\"row\"></th><td class=\"n\"></td></tr></table>"
           "<small>and 2 more</small>");
    expect("{\"kind\": \"text\", \"text\": \"<i>\\n\"}", "<pre>&#60;i&#62;?</pre>");
}

static void what_is_no_picture_is_left_out(void **state)
{
    (void)state;
    static const char *const bad[] = {
        NULL,
        "{}",
        "[]",
        "{\"kind\": 3}",
        "{\"kind\": \"film\"}",
        "{\"kind\": \"image\", \"width\": 2, \"height\": 2, \"png\": \"\"}",
        "{\"kind\": \"image\", \"width\": 2, \"height\": 2, \"png\": \"iV\\\" onload=\\\"x\"}",
        "{\"kind\": \"image\", \"width\": 2, \"height\": 2, \"png\": \"i=V\"}",
        "{\"kind\": \"image\", \"width\": 0, \"height\": 2, \"png\": \"iV\"}",
        "{\"kind\": \"image\", \"width\": 2, \"height\": 99999, \"png\": \"iV\"}",
        "{\"kind\": \"lines\", \"lines\": []}",
        "{\"kind\": \"values\", \"values\": {}}",
        "{\"kind\": \"text\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(bad[i], "<figure><p>no picture</p><figcaption>");
    expect("{\"kind\": \"lines\", \"lines\": [[1e300, -5, \"x\"]]}",
           "points=\"0,200 200,200 400,200\"/>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_drawn),
        cmocka_unit_test(what_is_no_picture_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
