/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/checkpoint_interval.h"

#include "base/test.h"

#define S UINT64_C(1000000000)

static void reads_seconds_and_steps(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t every_ns, every_steps;
    } cases[] = {
        {NULL, 60 * S, 0}, {"1s", S, 0},         {"600s", 600 * S, 0}, {"1000000000s", S * S, 0},
        {"1steps", 0, 1},  {"100steps", 0, 100}, {"0", 0, 0},          {"0s", 0, 0},
        {"0steps", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_checkpoint_interval interval = {1, 2, 3, 4};
        assert_ok(sh_checkpoint_interval_parse(&interval, cases[i].text));
        assert_int_equal(interval.every_ns, cases[i].every_ns);
        assert_int_equal(interval.every_steps, cases[i].every_steps);
    }
}

static void refuses_all_else(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "s",
        "60",
        "60 s",
        "1.5s",
        "-1s",
        "60ss",
        "60m",
        "1step",
        "1000000001s",
        "99999999999999999999999s",
        "steps",
        "60s ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sh_checkpoint_interval interval = {1, 2, 3, 4};
        assert_fails(sh_checkpoint_interval_parse(&interval, texts[i]), SH_INVALID,
                     "must be seconds, such as 60s, or steps, such as 100steps, at most "
                     "1000000000, or 0 for none within an epoch");
        assert_int_equal(interval.every_ns, 1);
    }
}

static void is_due_after_seconds(void **state)
{
    (void)state;
    sh_checkpoint_interval interval;
    assert_ok(sh_checkpoint_interval_parse(&interval, "2s"));
    sh_checkpoint_interval_restart(&interval, 5 * S, 100);
    assert_false(sh_checkpoint_interval_is_due(&interval, 5 * S, 100));
    assert_false(sh_checkpoint_interval_is_due(&interval, 7 * S - 1, 1000000));
    assert_true(sh_checkpoint_interval_is_due(&interval, 7 * S, 101));
    sh_checkpoint_interval_restart(&interval, 7 * S, 101);
    assert_false(sh_checkpoint_interval_is_due(&interval, 8 * S, 102));
}

static void is_due_after_steps_or_never(void **state)
{
    (void)state;
    sh_checkpoint_interval interval;
    assert_ok(sh_checkpoint_interval_parse(&interval, "3steps"));
    sh_checkpoint_interval_restart(&interval, 0, 100);
    assert_false(sh_checkpoint_interval_is_due(&interval, S * S, 102));
    assert_true(sh_checkpoint_interval_is_due(&interval, 0, 103));
    assert_true(sh_checkpoint_interval_is_due(&interval, 0, 110));
    assert_ok(sh_checkpoint_interval_parse(&interval, "0"));
    assert_false(sh_checkpoint_interval_is_due(&interval, S * S, 1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_seconds_and_steps),
        cmocka_unit_test(refuses_all_else),
        cmocka_unit_test(is_due_after_seconds),
        cmocka_unit_test(is_due_after_steps_or_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
