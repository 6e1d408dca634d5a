/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/console.h"

static void text_from_outside_is_made_safe(void **state)
{
    (void)state;
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"", ""},
        {"pi-4.local", "pi-4.local"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9f", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9f"},
        {"a\033[31mb\r\nc\t\x7f", "a?[31mb??c??"},
        {"\xc2\x9b\x32J", "??2J"}, /* a control sequence in one character */
        {"\xff\xfe", "??"},        /* never in UTF-8 */
        {"\xc0\xaf", "??"},        /* '/' written too long */
        {"\xe0\x80\xaf", "???"},   /* the same in three */
        {"\xe0\x9f\xbf", "???"},   /* two bytes would do */
        {"\xf0\x8f\xbf\xbf", "????"},
        {"\xed\xa0\x80", "???"},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "????"}, /* behind the last character */
        {"\xe2\x82", "??"},           /* cut off */
        {"\xc3(", "?("},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char clean[64];
        assert_string_equal(sh_console_clean(clean, sizeof clean, cases[i].text), cases[i].clean);
    }
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
    (void)state;
    char clean[4];
    assert_string_equal(sh_console_clean(clean, sizeof clean, "abcdef"), "abc");
    assert_string_equal(sh_console_clean(clean, sizeof clean, "ab\xc3\xa9"), "ab");
    assert_string_equal(sh_console_clean(clean, 1, "a"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_from_outside_is_made_safe),
        cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
