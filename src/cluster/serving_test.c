/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/serving.h"

#include <stdio.h>

#include "base/test.h"

static void lists_are_read_and_printed(void **state)
{
    (void)state;
    static const char *const lists[] = {"0", "0,2", "7,1,999999999"};
    char text[SH_SERVING_TEXT];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        sh_serving serving = {.on = true};
        assert_ok(sh_serving_parse(&serving, lists[i]));
        assert_true(serving.on);
        sh_serving_print(&serving, text);
        assert_string_equal(text, lists[i]);
    }
    sh_serving many = {.count = SH_DEVICES_MAX};
    for (uint32_t i = 0; i < many.count; i++)
        many.devices[i] = UINT32_MAX - i;
    sh_serving_print(&many, text);
    assert_string_equal(text + strlen(text) - 4, ",...");
}

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "--servers : must be a list of numbers; write comma-separated device numbers"},
        {"a", "--servers a: must be a list of numbers"},
        {"1,", "must be a list of numbers"},
        {",1", "must be a list of numbers"},
        {"1,,2", "must be a list of numbers"},
        {"1 2", "must be a list of numbers"},
        {"-1", "must be a list of numbers"},
        {"1234567890", "must be a list of numbers"},
        {"1,2,1", "--servers 1,2,1: names a device twice"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_serving serving = {.count = 1, .devices = {5}};
        assert_fails(sh_serving_parse(&serving, bad[i].text), SH_INVALID, bad[i].part);
        assert_int_equal(serving.count, 1);
        assert_int_equal(serving.devices[0], 5);
    }
    char text[2048] = "0";
    for (uint32_t i = 1; i <= SH_DEVICES_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%u", i);
    sh_serving serving = {0};
    assert_fails(sh_serving_parse(&serving, text), SH_INVALID, "more devices than a job can have");
}

static void those_chosen_serve_or_all(void **state)
{
    (void)state;
    static const struct {
        bool on;
        const char *list;
        bool there;
        const char *serve; /* of devices 0, 3, 5 */
    } cases[] = {
        {false, NULL, true, "000"}, {true, NULL, true, "111"},  {true, "0", true, "100"},
        {true, "5,3", true, "011"}, {true, "1,5", true, "001"}, {true, "1,2", false, "111"},
        {true, "4", false, "111"},  {false, "0", true, "000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_serving serving = {.on = cases[i].on};
        sh_seat seats[] = {{.device = 0}, {.device = 3, .serves = true}, {.device = 5}};
        if (cases[i].list != NULL)
            assert_ok(sh_serving_parse(&serving, cases[i].list));
        assert_int_equal(sh_serving_seat(&serving, seats, 3), cases[i].there);
        for (int k = 0; k < 3; k++)
            assert_int_equal(seats[k].serves, cases[i].serve[k] - '0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_printed),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(those_chosen_serve_or_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
