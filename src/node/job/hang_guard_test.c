/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/hang_guard.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"

/* Tests wait for the short limit and never reach the long one. */
#define SHORT_MS 20
#define LONG_MS 60000

static const sh_overdue_limit shorts[SH_OCCUPATION_KINDS] = {
    [SH_OCCUPATION_START] = {.least_ms = SHORT_MS, .at_once = true},
    [SH_OCCUPATION_STEPS] = {.least_ms = SHORT_MS},
    [SH_OCCUPATION_WAIT] = {.least_ms = SHORT_MS},
    [SH_OCCUPATION_FILES] = {.least_ms = SHORT_MS},
};
static const sh_overdue_limit longs[SH_OCCUPATION_KINDS] = {
    [SH_OCCUPATION_START] = {.least_ms = LONG_MS},
    [SH_OCCUPATION_STEPS] = {.least_ms = LONG_MS},
    [SH_OCCUPATION_WAIT] = {.least_ms = LONG_MS},
    [SH_OCCUPATION_FILES] = {.least_ms = LONG_MS},
};
static const sh_overdue_limit patient[SH_OCCUPATION_KINDS] = {
    [SH_OCCUPATION_STEPS] = {.least_ms = SHORT_MS},
    [SH_OCCUPATION_WAIT] = {.least_ms = SHORT_MS},
    [SH_OCCUPATION_FILES] = {.least_ms = LONG_MS},
};

typedef struct watched {
    sh_hang_guard *guard;
    sh_stop *stop;
    atomic_int saves, events;
    bool moves, hangs; /* the step's thread makes progress during a save; the save hangs */
    sem_t told, go;
    uint64_t total_step;
    char text[SH_MESSAGE_BYTES];
} watched;

static void save(void *context, sh_rescue *rescue)
{
    watched *w = context;
    atomic_fetch_add(&w->saves, 1);
    if (w->moves)
        sh_hang_guard_set_occupation(w->guard, SH_OCCUPATION_WAIT);
    if (w->hangs)
        sem_wait(&w->go);
    *rescue = (sh_rescue){.steps = 12, .text = "a checkpoint of step 12 was written"};
}

static void observe(void *context, const sh_event *event)
{
    watched *w = context;
    assert_int_equal(event->kind, SH_EVENT_HUNG);
    atomic_fetch_add(&w->events, 1);
    w->total_step = event->total_step;
    snprintf(w->text, sizeof w->text, "%s", event->text);
    sem_post(&w->told);
}

static void start(watched *w, const sh_overdue_limit *limits)
{
    assert_ok(sh_stop_new(&w->stop));
    assert_int_equal(sem_init(&w->told, 0, 0), 0);
    assert_int_equal(sem_init(&w->go, 0, 0), 0);
    assert_ok(sh_hang_guard_start(&w->guard, &(sh_hang_guard_options){.stop = w->stop,
                                                                      .others = "the other devices",
                                                                      .save = save,
                                                                      .context = w,
                                                                      .observer = observe,
                                                                      .observer_context = w,
                                                                      .limits = limits,
                                                                      .look_ms = 2}));
    sh_hang_guard_set_savable(w->guard, true);
}

static void end(watched *w)
{
    sh_hang_guard_stop(w->guard);
    sh_stop_free(w->stop);
    sem_destroy(&w->told);
    sem_destroy(&w->go);
}

static void what_hangs_is_told_with_what_was_saved(void **state)
{
    (void)state;
    static const struct {
        sh_occupation occupation;
        const char *text;
    } cases[] = {
        {SH_OCCUPATION_STEPS, "computed nothing for"},
        {SH_OCCUPATION_WAIT, "nothing has come from the other devices for"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        watched w = {0};
        start(&w, patient);
        assert_int_equal(sh_hang_guard_set_occupation(w.guard, cases[i].occupation),
                         SH_OCCUPATION_START);
        sh_stop_request(w.stop);
        sem_wait(&w.told);
        assert_non_null(strstr(w.text, cases[i].text));
        assert_non_null(strstr(w.text, "; a checkpoint of step 12 was written"));
        assert_int_equal(w.total_step, 12);
        end(&w);
        assert_int_equal(w.saves, 1);
        assert_int_equal(w.events, 1);
    }
}

/* As if the step's thread held the lock, or the disk hung. */
static void a_save_that_hangs_is_not_waited_for(void **state)
{
    (void)state;
    watched w = {.hangs = true};
    start(&w, shorts);
    sh_hang_guard_set_occupation(w.guard, SH_OCCUPATION_FILES);
    sh_stop_request(w.stop);
    sem_wait(&w.told);
    assert_non_null(strstr(w.text, "the disk has hung"));
    assert_non_null(strstr(w.text, "no checkpoint could be written within 0 s; those on the disk"));
    assert_int_equal(w.total_step, 0);
    sem_post(&w.go);
    end(&w);
    assert_int_equal(w.saves, 1);
}

static void what_is_saved_is_not_saved_again(void **state)
{
    (void)state;
    watched w = {0};
    start(&w, patient);
    sh_hang_guard_set_occupation(w.guard, SH_OCCUPATION_WAIT);
    sh_hang_guard_set_savable(w.guard, false);
    sh_stop_request(w.stop);
    sem_wait(&w.told);
    assert_non_null(strstr(w.text, "; everything is saved"));
    end(&w);
    assert_int_equal(w.saves, 0);
}

static void the_start_is_broken_off(void **state)
{
    (void)state;
    watched w = {0};
    start(&w, shorts);
    sh_stop_request(w.stop);
    sem_wait(&w.told);
    assert_string_equal(w.text, "ended before the training began");
    end(&w);
    assert_int_equal(w.saves, 0);
}

/* Only the second hang is reported. */
static void who_goes_on_is_not_told_of(void **state)
{
    (void)state;
    watched w = {.moves = true};
    start(&w, patient);
    sh_hang_guard_set_occupation(w.guard, SH_OCCUPATION_STEPS);
    sh_stop_request(w.stop);
    sem_wait(&w.told);
    end(&w);
    assert_non_null(strstr(w.text, "nothing has come from the other devices"));
    assert_int_equal(w.saves, 1);
    assert_int_equal(w.events, 1);
}

static void nothing_is_told_in_time_or_unasked(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        watched w = {0};
        start(&w, asked ? longs : shorts);
        if (asked)
            sh_stop_request(w.stop);
        end(&w);
        assert_int_equal(w.saves + w.events, 0);
    }
    sh_hang_guard *none;
    assert_ok(sh_hang_guard_start(&none, &(sh_hang_guard_options){.save = save}));
    assert_null(none);
    sh_hang_guard_set_occupation(none, SH_OCCUPATION_STEPS);
    sh_hang_guard_watch_lanes(none, NULL);
    sh_hang_guard_set_savable(none, true);
    sh_hang_guard_stop(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_hangs_is_told_with_what_was_saved),
        cmocka_unit_test(a_save_that_hangs_is_not_waited_for),
        cmocka_unit_test(what_is_saved_is_not_saved_again),
        cmocka_unit_test(the_start_is_broken_off),
        cmocka_unit_test(who_goes_on_is_not_told_of),
        cmocka_unit_test(nothing_is_told_in_time_or_unasked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
