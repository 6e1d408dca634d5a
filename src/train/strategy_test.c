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
        {"sync", {&sh_strategy_sync, 0}},         {"ps-sync", {&sh_strategy_ps_sync, 0}},
        {"ps-async", {&sh_strategy_ps_async, 0}}, {"ps-bounded:1", {&sh_strategy_ps_bounded, 1}},
        {"local:1", {&sh_strategy_local, 1}},     {"local:65535", {&sh_strategy_local, 65535}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        sh_strategy strategy;
        assert_ok(sh_strategy_parse(&strategy, known[i].text));
        assert_ptr_equal(strategy.row, known[i].strategy.row);
        assert_int_equal(strategy.number, known[i].strategy.number);
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

static void rows_have_their_properties(void **state)
{
    (void)state;
    static const sh_strategy all[] = {
        {&sh_strategy_sync, 0},       {&sh_strategy_ps_sync, 0}, {&sh_strategy_ps_async, 0},
        {&sh_strategy_ps_bounded, 1}, {&sh_strategy_local, 1},   {&sh_strategy_local, 2},
    };
    const size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            assert_int_equal(sh_strategy_same_course(&all[i], &all[j]), i == j || (i < 2 && j < 2));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].row->apart, i == 2 || i == 3);
        assert_int_equal(all[i].row->servers, i >= 1 && i <= 3);
        assert_int_equal(all[i].row->local, i >= 4);
        assert_int_equal(all[i].row->mpi_reason == NULL, i == 0 || i >= 4);
        assert_non_null(all[i].row->ops);
    }
}

static void they_are_listed_for_messages(void **state)
{
    (void)state;
    char text[SH_STRATEGY_LIST];
    sh_strategy_list(text, true, " and ");
    assert_string_equal(text, "ps-sync, ps-async and ps-bounded:K");
    sh_strategy_list(text, false, ", ");
    assert_string_equal(text, "sync, ps-sync, ps-async, ps-bounded:K, local:H");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_are_read),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(rows_have_their_properties),
        cmocka_unit_test(they_are_listed_for_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
