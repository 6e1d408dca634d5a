/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/test.h"

static void cleans(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
        const char *expected;
    } cases[] = {
        {"", 8, ""},
        {"pi-1", 8, "pi-1"},
        {"a\tb\x1b[2J\x7f", 16, "a?b?[2J?"},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9f", 16, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9f"},
        {"\xc2\x9b"
         "31m",
         16, "?31m"},                          /* C1's CSI */
        {"\xff\xc3", 8, "??"},                 /* no lead byte; truncated */
        {"\xc0\x80\xed\xa0\x80", 16, "?????"}, /* overlong; a surrogate */
        {"abcd", 4, "abc"},
        {"ab\xe2\x82\xac", 5, "ab"}, /* never half a character */
        {"a", 1, ""},
        {"a\033[31mb\r\nc\t\x7f", 32, "a?[31mb??c??"},
        {"\xff\xfe", 8, "??"},      /* never in UTF-8 */
        {"\xc0\xaf", 8, "??"},      /* overlong '/' */
        {"\xe0\x80\xaf", 8, "???"}, /* the same in three bytes */
        {"\xe0\x9f\xbf", 8, "???"}, /* two bytes suffice */
        {"\xf0\x8f\xbf\xbf", 8, "????"},
        {"\xf4\x90\x80\x80", 8, "????"}, /* beyond the last code point */
        {"\xe2\x82", 8, "??"},           /* truncated */
        {"\xc3(", 8, "?("},
        {"\xe2\x80\xae"
         "gpj.exe",
         16, "?gpj.exe"},                                             /* right-to-left override */
        {"\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa", 16, "????"}, /* marks, an embedding */
        {"\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\xa8\xe2\x80\xa9", 16,
         "????"}, /* isolates, line separators */
        {"\xe2\x80\x8d\xe2\x80\xa7", 16,
         "\xe2\x80\x8d\xe2\x80\xa7"},                 /* joiner, hyphenation point */
        {"\xd8\xa7\xd7\x90", 16, "\xd8\xa7\xd7\x90"}, /* Arabic, Hebrew: letters */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[32];
        assert_string_equal(sh_utf8_clean(out, cases[i].bytes, cases[i].text), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cleans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
