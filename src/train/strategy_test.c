/* SPDX-License-Identifier: Apache-2.0 */
#include "train/strategy.h"

#include "base/test.h"

static void strategies_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_strategy strategy;
    } known[] = {
        {"sync", {SH_STRATEGY_SYNC, 0}},         {"ps-sync", {SH_STRATEGY_PS_SYNC, 0}},
        {"ps-async", {SH_STRATEGY_PS_ASYNC, 0}}, {"ps-bounded:1", {SH_STRATEGY_PS_BOUNDED, 1}},
        {"local:1", {SH_STRATEGY_LOCAL, 1}},     {"local:65535", {SH_STRATEGY_LOCAL, 65535}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_strategy strategy;
        assert_ok(sh_strategy_parse(&strategy, known[i].text));
        assert_int_equal(strategy.kind, known[i].strategy.kind);
        assert_int_equal(strategy.bound, known[i].strategy.bound);
    }
}

#define ALL "must be sync, ps-sync, ps-async, ps-bounded:K, local:H"

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_status code;
        const char *part;
    } bad[] = {
        {"", SH_NOT_FOUND, "--strategy : " ALL},
        {"synch", SH_NOT_FOUND, "--strategy synch: " ALL},
        {"syn", SH_NOT_FOUND, "--strategy syn: " ALL},
        {"SYNC", SH_NOT_FOUND, "--strategy SYNC: " ALL},
        {"sync:4", SH_INVALID, "--strategy sync:4: takes no number; write sync"},
        {"sync:", SH_INVALID, "--strategy sync:: takes no number"},
        {"ps-sync:2", SH_INVALID, "--strategy ps-sync:2: takes no number; write ps-sync"},
        {"ps-async:1", SH_INVALID, "--strategy ps-async:1: takes no number; write ps-async"},
        {"local", SH_INVALID,
         "--strategy local: H must be a whole number from 1 to 65535; write local:H, such as "
         "local:8"},
        {"local:", SH_INVALID, "--strategy local:: H must be"},
        {"local:0", SH_INVALID, "--strategy local:0: H must be"},
        {"local:65536", SH_INVALID, "--strategy local:65536: H must be"},
        {"local:4294967297", SH_INVALID, "H must be"},
        {"local:04", SH_INVALID, "H must be"},
        {"local:-1", SH_INVALID, "H must be"},
        {"local:4 ", SH_INVALID, "H must be"},
        {"ps-bounded", SH_INVALID,
         "--strategy ps-bounded: K must be a whole number from 1 to 65535; write ps-bounded:K, "
         "such as ps-bounded:8"},
        {"ps-bounded:x", SH_INVALID, "K must be"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_strategy strategy;
        assert_fails(sh_strategy_parse(&strategy, bad[i].text), bad[i].code, bad[i].part);
    }
}

static void those_of_one_course_are_known(void **state)
{
    (void)state;
    static const sh_strategy all[] = {
        {SH_STRATEGY_SYNC, 0},       {SH_STRATEGY_PS_SYNC, 0}, {SH_STRATEGY_PS_ASYNC, 0},
        {SH_STRATEGY_PS_BOUNDED, 1}, {SH_STRATEGY_LOCAL, 1},   {SH_STRATEGY_LOCAL, 2},
    };
    const size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            assert_int_equal(sh_strategy_same_course(&all[i], &all[j]), i == j || (i < 2 && j < 2));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sh_strategy_laps(&all[i]), i == 2 || i == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_are_read),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(those_of_one_course_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
