/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/watchdog.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/test.h"

#define LONG_MS 60000

typedef struct watched {
    atomic_int calls;
    sem_t called;
} watched;

static void note(void *context)
{
    watched *w = context;
    atomic_fetch_add(&w->calls, 1);
    sem_post(&w->called);
}

static sh_watchdog *start(watched *w, const sh_stop *stop, int patience_ms)
{
    sh_watchdog *watchdog;
    *w = (watched){0};
    assert_int_equal(sem_init(&w->called, 0, 0), 0);
    assert_ok(sh_watchdog_start(
        &watchdog, &(sh_watchdog_options){stop, patience_ms, .on_overdue = note, .context = w}));
    return watchdog;
}

static void acts_where_the_course_does_not_end(void **state)
{
    watched w;
    sh_stop *stop;
    (void)state;
    assert_ok(sh_stop_new(&stop));
    for (int round = 0; round < 2; round++) {
        sh_watchdog *watchdog = start(&w, stop, 1);
        sh_stop_request(stop);
        sem_wait(&w.called);
        sh_watchdog_stop(watchdog);
        assert_int_equal(w.calls, 1);
        sem_destroy(&w.called);
    }
    sh_stop_free(stop);
}

static void does_nothing_where_it_ends(void **state)
{
    watched w;
    sh_stop *stop;
    (void)state;
    assert_ok(sh_stop_new(&stop));
    for (int asked = 0; asked < 2; asked++) {
        sh_watchdog *watchdog = start(&w, stop, LONG_MS);
        if (asked)
            sh_stop_request(stop);
        sh_watchdog_stop(watchdog);
        assert_int_equal(w.calls, 0);
        sem_destroy(&w.called);
    }
    sh_stop_free(stop);
    sh_watchdog_stop(start(&w, NULL, 0));
    assert_int_equal(w.calls, 0);
    sem_destroy(&w.called);
    sh_watchdog_stop(NULL);
}

typedef struct looked {
    watched w; /* first, for note */
    atomic_int before, behind;
} looked;

static bool look(void *context, bool asked)
{
    looked *l = context;
    atomic_fetch_add(asked ? &l->behind : &l->before, 1);
    return asked && atomic_load(&l->behind) >= 3;
}

/* It continues after it acted, because the training loop may continue. */
static void looks_until_the_course_ends(void **state)
{
    looked l = {0};
    sh_stop *stop;
    sh_watchdog *watchdog;
    (void)state;
    assert_ok(sh_stop_new(&stop));
    assert_int_equal(sem_init(&l.w.called, 0, 0), 0);
    assert_ok(sh_watchdog_start(&watchdog, &(sh_watchdog_options){stop, 1, look, note, &l}));
    while (atomic_load(&l.before) < 2)
        sched_yield();
    sh_stop_request(stop);
    for (int call = 0; call < 2; call++)
        sem_wait(&l.w.called);
    sh_watchdog_stop(watchdog);
    assert_int_equal(l.w.calls, l.behind - 2);
    sem_destroy(&l.w.called);
    sh_stop_free(stop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acts_where_the_course_does_not_end),
        cmocka_unit_test(does_nothing_where_it_ends),
        cmocka_unit_test(looks_until_the_course_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
