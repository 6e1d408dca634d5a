/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "shoal/data.h"

static void expect(const char *json, const char *part)
{
    char *html;
    assert_ok(sh_data_page(&html, json, "one <b>\n&"));
    if (strstr(html, part) == NULL)
        fail_msg("'%s' lacks '%s'", html, part);
    assert_null(strstr(html, "<b>"));
    assert_null(strstr(html, "{{"));
    assert_non_null(strstr(html, "<title>one &#60;b&#62;?&#38;</title>"));
    free(html);
}

static void what_was_found_is_told(void **state)
{
    (void)state;
    static const char json[] =
        "{\"kind\": \"photos\", \"task\": \"classification\", \"outputs\": 2, \"training\": 1900,"
        " \"classes\": [{\"name\": \"<b>\", \"training\": 50, \"validation\": 200}],"
        " \"warnings\": [\"a <b>\"], \"notes\": [\"left out: x\\u001b.jpg\", 7],"
        " \"imbalance\": 3.5,"
        " \"duplicates\": {\"first\": [[\"training 1\", \"validation 2\"], 3]},"
        " \"training_defaults\": {\"why\": \"lenet for all\"},"
        " \"examples\": {\"typical\": [{\"place\": \"training 4\", \"target\": \"<b>\","
        " \"distance\": 0.25, \"picture\": {\"kind\": \"text\", \"text\": \"<b>\"}}]}}";
    expect(json, "classification, 2 outputs");
    expect(json, "1,900 to train with, not available to validate with");
    expect(json, "<th scope=\"row\">&#60;b&#62;</th><td class=\"n\">50</td>"
                 "<td><span class=\"bar\" style=\"width:50px\"></span></td><td class=\"n\">200</td>"
                 "<td><span class=\"bar\" style=\"width:200px\"></span></td>");
    expect(json, "<li>a &#60;b&#62;</li>");
    expect(json, "<li>left out: x?.jpg</li>\n<li></li>");
    expect(json, "the largest class has 3.5 times");
    expect(json, "<th scope=\"row\">training 1</th><td>validation 2</td>");
    expect(json, "shoal train auto would train lenet for all.");
    expect(json, "training 4 <small>&#60;b&#62;, distance 0.25</small>");
    expect("{\"targets\": [{\"name\": \"<b>\", \"least\": 1, \"mean\": 2}]}",
           "<th scope=\"row\">&#60;b&#62;</th><td class=\"n\">1</td>");
}

static void what_is_missing_is_left_out(void **state)
{
    (void)state;
    char *html;
    expect("{}", "All samples");
    expect("{\"classes\": 3, \"targets\": {}, \"notes\": \"x\", \"examples\": []}", "All samples");
    assert_fails(sh_data_page(&html, "[]", ""), SH_FORMAT, "not a JSON object");
    assert_fails(sh_data_page(&html, "{", ""), SH_FORMAT, "not a JSON object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_found_is_told),
        cmocka_unit_test(what_is_missing_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
