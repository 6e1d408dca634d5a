/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

static void escapes(void **state)
{
    (void)state;
    static const struct {
        sh_report_format format;
        const char *text, *expected;
    } cases[] = {
        {SH_REPORT_text, "a|b <c>", "a|b <c>"},
        {SH_REPORT_markdown, "a|b *c* <d> [e](f) `g` \\ _h_ # &amp;",
         "a\\|b \\*c\\* \\<d\\> \\[e\\](f) \\`g\\` \\\\ \\_h\\_ \\# \\&amp;"},
        {SH_REPORT_html, "</script><b a='x' c=\"y\">&amp;",
         "&#60;/script&#62;&#60;b a=&#39;x&#39; c=&#34;y&#34;&#62;&#38;amp;"},
        {SH_REPORT_json, "</script>\"\\&\n\x01 \xc3\xa4",
         "\"\\u003c/script\\u003e\\u0022\\u005c\\u0026\\u000a\\u0001 \xc3\xa4\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        assert_non_null(file);
        sh_escape(file, cases[i].format, cases[i].text);
        fclose(file);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void writes_tables(void **state)
{
    (void)state;
    static const struct {
        sh_report_format format;
        const char *expected;
    } cases[] = {
        {SH_REPORT_text,
         "\nSizes\nOf fish\nname     bytes\n\xc3\xa4l     1.00 kB\nray|2      0 B\n\n"},
        {SH_REPORT_markdown,
         "\n## Sizes\n\nOf fish\n\n| name | bytes |\n|---|--:|\n| \xc3\xa4l | 1.00 kB |\n"
         "| ray\\|2 | 0 B |\n\n"},
        {SH_REPORT_html,
         "<h2>Sizes</h2>\n<div class=\"box\" tabindex=\"0\"><table><caption>Of fish</caption>\n"
         "<tr><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">bytes</th></tr>\n"
         "<tr><th scope=\"row\">\xc3\xa4l</th><td class=\"n\">1.00 kB</td></tr>\n"
         "<tr><th scope=\"row\">ray|2</th><td class=\"n\">0 B</td></tr>\n</table></div>\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        size_t bytes;
        FILE *file = open_memstream(&text, &bytes);
        assert_non_null(file);
        sh_sheet sheet = {.file = file, .format = cases[i].format};
        sh_sheet_heading(&sheet, 2, "Sizes");
        sh_sheet_table(&sheet, "Of fish", "<>", (const char *const[]){"name", "bytes"});
        sh_sheet_cell(&sheet, "\xc3\xa4l");
        sh_sheet_number(&sheet, 1000, SH_UNIT_bytes);
        sh_sheet_cell(&sheet, "ray|2");
        sh_sheet_number(&sheet, 0, SH_UNIT_bytes);
        sh_sheet_end(&sheet);
        fclose(file);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
}

static void says_numbers_with_units(void **state)
{
    (void)state;
    static const struct {
        double value;
        sh_unit unit;
        const char *expected;
    } cases[] = {
        {NAN, SH_UNIT_bytes, "not available"},  {0, SH_UNIT_whole, "0"},
        {1234567, SH_UNIT_whole, "1,234,567"},  {-1234, SH_UNIT_whole, "-1,234"},
        {999.4, SH_UNIT_whole, "999"},          {0.31237, SH_UNIT_loss, "0.3124"},
        {0.96309, SH_UNIT_percent, "96.31 %"},  {41.04e6, SH_UNIT_bytes, "41.0 MB"},
        {999.6e3, SH_UNIT_bytes, "1.00 MB"},    {254e6, SH_UNIT_bytes, "254 MB"},
        {12.34e-3, SH_UNIT_seconds, "12.3 ms"}, {0.9996, SH_UNIT_seconds, "1.00 s"},
        {4.56, SH_UNIT_seconds, "4.56 s"},      {3e-7, SH_UNIT_seconds, "300 ns"},
        {59.9, SH_UNIT_duration, "59.9 s"},     {59.96, SH_UNIT_duration, "1:00"},
        {3723, SH_UNIT_duration, "1:02:03"},    {3599.7, SH_UNIT_duration, "1:00:00"},
        {2345.4, SH_UNIT_rate, "2,345/s"},      {12.34, SH_UNIT_rate, "12.3/s"},
        {INFINITY, SH_UNIT_bytes, "inf"},       {1e300, SH_UNIT_whole, "1e+300"},
        {7.2e3, SH_UNIT_joules, "7.20 kJ"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SH_QUANTITY_BYTES];
        assert_string_equal(sh_quantity(text, cases[i].value, cases[i].unit), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(writes_tables),
        cmocka_unit_test(says_numbers_with_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
