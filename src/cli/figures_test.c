/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/figures.h"

#include <math.h>
#include <stdlib.h>

static void whole_numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t number;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {1234567, "1,234,567"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    sh_figure figure;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(sh_figure_whole(&figure, cases[i].number), cases[i].text);
    assert_string_equal(sh_figure_count(&figure, 0, "device"), "0 devices");
    assert_string_equal(sh_figure_count(&figure, 1, "device"), "1 device");
    assert_string_equal(sh_figure_count(&figure, 1200, "device"), "1,200 devices");
}

typedef const char *format(sh_figure *figure, double number);

static const char *percent(sh_figure *figure, double share)
{
    return sh_figure_percent(figure, share, 2);
}

static void fractions(void **state)
{
    (void)state;
    const struct {
        format *format;
        double number;
        const char *text;
    } cases[] = {
        {sh_figure_rate, 0, "0.00"},
        {sh_figure_rate, 9.99, "9.99"},
        {sh_figure_rate, 9.996, "10.0"},
        {sh_figure_rate, 99.94, "99.9"},
        {sh_figure_rate, 99.96, "100"},
        {sh_figure_rate, 2345.4, "2,345"},
        {sh_figure_rate, NAN, "-"},
        {sh_figure_rate, -1, "-"},
        {sh_figure_rate, 1e300, "-"},
        {sh_figure_loss, 0.31236, "0.3124"},
        {sh_figure_loss, 1234567.0, "1.235e+06"},
        {sh_figure_loss, INFINITY, "-"},
        {percent, 0.96314, "96.31 %"},
        {percent, 1, "100.00 %"},
        {percent, NAN, "-"},
        {sh_figure_duration, 0, "0.00 s"},
        {sh_figure_duration, 0.45, "0.45 s"},
        {sh_figure_duration, 0.999, "0:01"},
        {sh_figure_duration, 59.7, "1:00"},
        {sh_figure_duration, 754, "12:34"},
        {sh_figure_duration, 3723, "1:02:03"},
        {sh_figure_duration, 3 * 86400 + 3723, "3 d 01:02:03"},
        {sh_figure_duration, -1, "-"},
        {sh_figure_duration, INFINITY, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_figure figure;
        assert_string_equal(cases[i].format(&figure, cases[i].number), cases[i].text);
    }
}

static void dates(void **state)
{
    (void)state;
    sh_figure figure;
    setenv("TZ", "XYZ-2", 1); /* two hours east */
    assert_string_equal(sh_figure_date(&figure, 1795363923.7), "2026-11-22 18:12:03");
    assert_string_equal(sh_figure_date(&figure, 0), "1970-01-01 02:00:00");
    assert_string_equal(sh_figure_date(&figure, NAN), "-");
    assert_string_equal(sh_figure_date(&figure, 1e300), "-");
}

static void megabytes(void **state)
{
    (void)state;
    sh_figure figure;
    assert_string_equal(sh_figure_megabytes(&figure, 0), "0.0");
    assert_string_equal(sh_figure_megabytes(&figure, 49999), "0.0");
    assert_string_equal(sh_figure_megabytes(&figure, 50000), "0.1");
    assert_string_equal(sh_figure_megabytes(&figure, 45300000), "45.3");
    assert_string_equal(sh_figure_megabytes(&figure, 1234567890), "1,234.6");
    assert_string_equal(sh_figure_megabytes(&figure, UINT64_MAX), "18,446,744,073,709.6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(fractions),
        cmocka_unit_test(dates),
        cmocka_unit_test(megabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
