/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

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
        {SH_REPORT_text,
         "a\xe2\x80\xae"
         "b\033[2J\n\xff\xc3\xa4",
         "a?b?[2J??\xc3\xa4"},
        {SH_REPORT_markdown,
         "a\xe2\x80\xae"
         "b\n# c",
         "a?b?\\# c"},
        {SH_REPORT_html,
         "<\xe2\x81\xa6"
         "b\n\xc3\xa4>",
         "&#60;?b?\xc3\xa4&#62;"},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes),
        cmocka_unit_test(writes_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
