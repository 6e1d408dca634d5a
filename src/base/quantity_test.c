/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

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
    sh_quantity figure;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(sh_quantity_whole(&figure, cases[i].number), cases[i].text);
    assert_string_equal(sh_quantity_count(&figure, 0, "device"), "0 devices");
    assert_string_equal(sh_quantity_count(&figure, 1, "device"), "1 device");
    assert_string_equal(sh_quantity_count(&figure, 1200, "device"), "1,200 devices");
}

typedef const char *format(sh_quantity *figure, double number);

static const char *percent(sh_quantity *figure, double share)
{
    return sh_quantity_percent(figure, share, 2);
}

static void fractions(void **state)
{
    (void)state;
    const struct {
        format *format;
        double number;
        const char *text;
    } cases[] = {
        {sh_quantity_rate, 0, "0.00"},
        {sh_quantity_rate, 9.99, "9.99"},
        {sh_quantity_rate, 9.996, "10.0"},
        {sh_quantity_rate, 99.94, "99.9"},
        {sh_quantity_rate, 99.96, "100"},
        {sh_quantity_rate, 2345.4, "2,345"},
        {sh_quantity_rate, NAN, "-"},
        {sh_quantity_rate, -1, "-"},
        {sh_quantity_rate, 1e300, "-"},
        {sh_quantity_loss, 0.31236, "0.3124"},
        {sh_quantity_loss, 1234567.0, "1.235e+06"},
        {sh_quantity_loss, INFINITY, "-"},
        {percent, 0.96314, "96.31 %"},
        {percent, 1, "100.00 %"},
        {percent, NAN, "-"},
        {sh_quantity_duration, 0, "0.00 s"},
        {sh_quantity_duration, 0.45, "0.45 s"},
        {sh_quantity_duration, 0.999, "0:01"},
        {sh_quantity_duration, 59.7, "1:00"},
        {sh_quantity_duration, 754, "12:34"},
        {sh_quantity_duration, 3723, "1:02:03"},
        {sh_quantity_duration, 3 * 86400 + 3723, "3 d 01:02:03"},
        {sh_quantity_duration, -1, "-"},
        {sh_quantity_duration, INFINITY, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_quantity figure;
        assert_string_equal(cases[i].format(&figure, cases[i].number), cases[i].text);
    }
}

static void dates(void **state)
{
    (void)state;
    sh_quantity figure;
    setenv("TZ", "XYZ-2", 1); /* two hours east */
    assert_string_equal(sh_quantity_date(&figure, 1795363923.7), "2026-11-22 18:12:03");
    assert_string_equal(sh_quantity_date(&figure, 0), "1970-01-01 02:00:00");
    assert_string_equal(sh_quantity_date(&figure, NAN), "-");
    assert_string_equal(sh_quantity_date(&figure, 1e300), "-");
}

static void megabytes(void **state)
{
    (void)state;
    sh_quantity figure;
    assert_string_equal(sh_quantity_megabytes(&figure, 0), "0.0");
    assert_string_equal(sh_quantity_megabytes(&figure, 49999), "0.0");
    assert_string_equal(sh_quantity_megabytes(&figure, 50000), "0.1");
    assert_string_equal(sh_quantity_megabytes(&figure, 45300000), "45.3");
    assert_string_equal(sh_quantity_megabytes(&figure, 1234567890), "1,234.6");
    assert_string_equal(sh_quantity_megabytes(&figure, UINT64_MAX), "18,446,744,073,709.6");
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
        sh_quantity text;
        assert_string_equal(sh_quantity_of(&text, cases[i].value, cases[i].unit),
                            cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(fractions),
        cmocka_unit_test(dates),
        cmocka_unit_test(megabytes),
        cmocka_unit_test(says_numbers_with_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
