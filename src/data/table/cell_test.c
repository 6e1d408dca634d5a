/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/cell.h"

#include <math.h>

#include "base/test.h"

static void texts_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_cell cell;
        double value;
    } cases[] = {
        {"", SH_CELL_MISSING, 0},
        {" ? ", SH_CELL_MISSING, 0},
        {"NA", SH_CELL_MISSING, 0},
        {"N/A", SH_CELL_MISSING, 0},
        {"NaN", SH_CELL_MISSING, 0},
        {"nan ", SH_CELL_MISSING, 0},
        {"null", SH_CELL_MISSING, 0},
        {"nap", SH_CELL_WORD, 0},
        {"7", SH_CELL_NUMBER, 7},
        {" -7.25\t", SH_CELL_NUMBER, -7.25},
        {"+.5", SH_CELL_NUMBER, 0.5},
        {"5.", SH_CELL_NUMBER, 5},
        {"1e-3", SH_CELL_NUMBER, 0.001},
        {"1E+2", SH_CELL_NUMBER, 100},
        {"-0", SH_CELL_NUMBER, 0},
        {"007", SH_CELL_NUMBER, 7},
        {"0e99999999999999", SH_CELL_NUMBER, 0},
        {"1e-99999999999999", SH_CELL_NUMBER, 0},
        {"1e99999999999999", SH_CELL_INFINITE, 0},
        {"1e309", SH_CELL_INFINITE, 0},
        {"inf", SH_CELL_INFINITE, 0},
        {"-Infinity", SH_CELL_INFINITE, 0},
        {".", SH_CELL_WORD, 0},
        {"-", SH_CELL_WORD, 0},
        {"1e", SH_CELL_WORD, 0},
        {"1,5", SH_CELL_WORD, 0},
        {"1 2", SH_CELL_WORD, 0},
        {"1.2.3", SH_CELL_WORD, 0},
        {"0x10", SH_CELL_WORD, 0},
        {"1970-01-01", SH_CELL_DATE, 0},
        {"2000-03-01", SH_CELL_DATE, 11017},
        {"1969-12-31", SH_CELL_DATE, -1},
        {"2024-02-29T12:00", SH_CELL_DATE, 19782.5},
        {"2024-02-29 18:00:00", SH_CELL_DATE, 19782.75},
        {"1970-01-01T00:00:01.5Z", SH_CELL_DATE, 1.5 / 86400},
        {"1970-01-01T06:00:00+06:00", SH_CELL_DATE, 0},
        {"1970-01-01T00:00-12:00", SH_CELL_DATE, 0.5},
        {"2023-02-29", SH_CELL_WORD, 0},
        {"1900-02-29", SH_CELL_WORD, 0},
        {"2023-13-01", SH_CELL_WORD, 0},
        {"2023-1-1", SH_CELL_WORD, 0},
        {"2023-01-01x", SH_CELL_WORD, 0},
        {"2023-01-01T25:00", SH_CELL_WORD, 0},
        {"01.02.2023", SH_CELL_WORD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 42;
        const sh_cell cell = sh_cell_read(&value, cases[i].text);
        if (cell != cases[i].cell || value != cases[i].value ||
            (signbit(value) != 0) != (value < 0))
            fail_msg("'%s': %d, %g", cases[i].text, (int)cell, value);
    }
}

/* Tests run in the locale C, in which strtod rounds to the nearest. */
static void expect_nearest(const char *text)
{
    double value;
    const double expected = strtod(text, NULL);
    const sh_cell cell = sh_cell_read(&value, text);
    if (cell != (isinf(expected) ? SH_CELL_INFINITE : SH_CELL_NUMBER) ||
        (cell == SH_CELL_NUMBER && value != expected))
        fail_msg("%s: %.17g, not %.17g", text, value, expected);
}

static void numbers_are_the_nearest(void **state)
{
    (void)state;
    static const char *const hard[] = {
        "9007199254740993",
        "9007199254740993.0000000000000000001",
        "9007199254740992.9999999",
        "1e23",
        "8.5e22",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "123456789012345678901234567890123456789012345678901234567890",
        "0.000000000000000000000000000000000000000000000000000000000123456789012345678",
        "3.807590643342410180e-02",
        "1.510000000000000000e+02",
        "1844674407370955161.6",
        "9999999999999999999e-27",
    };
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        expect_nearest(hard[i]);
    for (uint32_t i = 0; i < 30000; i++) {
        char text[64];
        uint32_t random[4] = {i * 2654435761u, i ^ 0x9e3779b9u, i * 40503u + 7, i};
        for (int k = 0; k < 4; k++)
            for (int round = 0; round < 3; round++) {
                random[k] ^= random[k] << 13;
                random[k] ^= random[k] >> 17;
                random[k] ^= random[k] << 5;
            }
        const int exponent = i % 3 == 0 ? (int)(random[3] % 660) - 340 : (int)(random[3] % 30) - 25;
        const int length = snprintf(text, sizeof text, "%u.%u%0*ue%d", random[0] % 10, random[1],
                                    (int)(i % 12) + 1, random[2], exponent);
        assert_in_range(length, 1, sizeof text - 1);
        expect_nearest(text);
    }
}

static void names_are_one_for_equal_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1", "1"},
        {"01", "1"},
        {" 1.0 ", "1"},
        {"1e0", "1"},
        {"-0.0", "0"},
        {"1.5", "1.5"},
        {" New York ", "New York"},
        {"a\nb", "a?b"},
        {"1e300", "1e300"},
        {"a\tb", "a?b"},
    };
    char name[SH_CELL_NAME_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(sh_cell_name(name, cases[i][0]), cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_told_apart),
        cmocka_unit_test(numbers_are_the_nearest),
        cmocka_unit_test(names_are_one_for_equal_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
