/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/overdue.h"

#include "base/test.h"

#define MS 1000000ull
#define LOOK_MS 500

typedef struct watched {
    sh_overdue overdue;
    sh_liveness liveness;
    uint64_t now_ms;
    bool asked;
} watched;

static watched begin(sh_occupation occupation)
{
    return (watched){
        .overdue = {.limits = sh_overdue_limits, .look_ns = 2 * LOOK_MS * MS},
        .liveness = {occupation, 7},
        .now_ms = 123456,
    };
}

static bool look(watched *w)
{
    w->now_ms += LOOK_MS;
    return sh_overdue_look(&w->overdue, w->now_ms * MS, w->liveness, w->asked);
}

/* Makes progress every `every_ms` (0: none); never overdue. */
static void pass(watched *w, uint64_t for_ms, uint64_t every_ms)
{
    for (uint64_t at = LOOK_MS; at <= for_ms; at += LOOK_MS) {
        if (every_ms > 0 && at % every_ms == 0)
            w->liveness.progress++;
        assert_false(look(w));
    }
}

/* Milliseconds without progress; 0: more than an hour. */
static uint64_t time_to_overdue(watched *w)
{
    for (uint64_t ms = LOOK_MS; ms <= 3600000; ms += LOOK_MS)
        if (look(w))
            return ms;
    return 0;
}

static void stillness_has_a_limit_by_what_it_does(void **state)
{
    (void)state;
    static const struct {
        sh_occupation occupation;
        uint64_t pause_ms;
        uint64_t limit_ms;
    } cases[] = {
        {SH_OCCUPATION_STEPS, 500, 5000},      {SH_OCCUPATION_STEPS, 2000, 16000},
        {SH_OCCUPATION_STEPS, 20000, 160000},  {SH_OCCUPATION_STEPS, 100000, 600000},
        {SH_OCCUPATION_WAIT, 500, 20000},      {SH_OCCUPATION_WAIT, 30000, 60000},
        {SH_OCCUPATION_WAIT, 900000, 1800000}, {SH_OCCUPATION_FILES, 500, 60000},
        {SH_OCCUPATION_FILES, 30000, 120000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        watched w = begin(cases[i].occupation);
        pass(&w, 4 * cases[i].pause_ms, cases[i].pause_ms);
        w.asked = true;
        assert_false(look(&w));
        assert_int_equal(time_to_overdue(&w), cases[i].limit_ms);
    }
}

/* A step of two minutes whose instructions take half a second each. */
static void who_moves_is_never_overdue(void **state)
{
    (void)state;
    for (int occupation = SH_OCCUPATION_STEPS; occupation < SH_OCCUPATION_KINDS; occupation++) {
        watched w = begin((sh_occupation)occupation);
        w.asked = true;
        pass(&w, 3600000, 4500);
    }
    watched slow = begin(SH_OCCUPATION_STEPS); /* it is slow before the request */
    pass(&slow, 600000, 30000);
    slow.asked = true;
    pass(&slow, 3600000, 60000);
}

static void nothing_happens_without_a_request(void **state)
{
    (void)state;
    watched w = begin(SH_OCCUPATION_STEPS);
    pass(&w, 3600000, 0);
    w.asked = true;
    assert_false(look(&w));
    assert_int_equal(time_to_overdue(&w), 5000);
}

static void another_doing_is_a_sign(void **state)
{
    (void)state;
    watched w = begin(SH_OCCUPATION_WAIT);
    w.asked = true;
    pass(&w, 19000, 0);
    w.liveness.occupation = SH_OCCUPATION_STEPS;
    assert_false(look(&w));
    assert_int_equal(time_to_overdue(&w), 5000);
    assert_int_equal(w.overdue.longest_ns[SH_OCCUPATION_WAIT], 19000 * MS);
    assert_int_equal(w.overdue.longest_ns[SH_OCCUPATION_STEPS], 0);
}

static void the_start_is_broken_off(void **state)
{
    (void)state;
    watched w = begin(SH_OCCUPATION_START);
    pass(&w, 100000, 500);
    w.asked = true;
    pass(&w, 20000, 500);
    w.liveness.progress++;
    assert_true(look(&w));
}

/* SIGSTOP, a suspended machine, a processor quota: the observer stopped, too. */
static void time_without_looks_does_not_count(void **state)
{
    (void)state;
    watched w = begin(SH_OCCUPATION_STEPS);
    w.asked = true;
    pass(&w, 2000, 0);
    for (int i = 0; i < 2; i++) { /* counts as one second each */
        w.now_ms += 3600000;
        assert_false(look(&w));
    }
    assert_int_equal(time_to_overdue(&w), 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stillness_has_a_limit_by_what_it_does),
        cmocka_unit_test(who_moves_is_never_overdue),
        cmocka_unit_test(nothing_happens_without_a_request),
        cmocka_unit_test(another_doing_is_a_sign),
        cmocka_unit_test(the_start_is_broken_off),
        cmocka_unit_test(time_without_looks_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
