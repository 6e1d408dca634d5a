/* SPDX-License-Identifier: Apache-2.0 */
#include "base/team.h"

#include <pthread.h>
#include <signal.h>

#include "base/test.h"

#define MOST 9

typedef struct turns {
    uint32_t size, turn;
    pthread_t threads[MOST]; /* of the first turn */
    uint64_t parts[MOST];    /* plain memory: writes must be visible without atomics */
} turns;

static void work(void *context, uint32_t worker)
{
    turns *t = context;
    if (t->turn == 0)
        t->threads[worker] = pthread_self();
    else if (!pthread_equal(t->threads[worker], pthread_self()))
        t->parts[worker] += 1u << 30; /* makes another thread's sum wrong */
    t->parts[worker] += t->turn + worker;
}

static void all_workers_run_every_turn(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sh_team *team = NULL;
        turns t = {.size = sizes[i]};
        uint64_t expected = 0;
        assert_ok(sh_team_start(&team, t.size));
        assert_int_equal(sh_team_size(team), t.size);
        for (; t.turn < 300; t.turn++) {
            sh_team_run(team, work, &t);
            expected += t.turn;
            for (uint32_t worker = 0; worker < t.size; worker++)
                assert_true(t.parts[worker] == expected + (uint64_t)(t.turn + 1) * worker);
        }
        assert_true(pthread_equal(t.threads[0], pthread_self()));
        for (uint32_t a = 0; a < t.size; a++)
            for (uint32_t b = 0; b < a; b++)
                assert_false(pthread_equal(t.threads[a], t.threads[b]));
        sh_team_stop(team);
    }
}

static void meet(void *context, uint32_t worker)
{
    (void)worker;
    pthread_barrier_wait(context); /* blocks unless all arrive */
}

static void workers_run_at_once(void **state)
{
    (void)state;
    sh_team *team = NULL;
    pthread_barrier_t barrier;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 4), 0);
    assert_ok(sh_team_start(&team, 4));
    for (int turn = 0; turn < 20; turn++)
        sh_team_run(team, meet, &barrier);
    sh_team_stop(team);
    pthread_barrier_destroy(&barrier);
}

static void add_one(void *context, uint32_t worker)
{
    ((int *)context)[worker]++;
}

static void add_ten(void *context, uint32_t worker)
{
    ((int *)context)[worker] += 10;
}

static void each_turn_has_its_own_task(void **state)
{
    (void)state;
    sh_team *team = NULL;
    int a[3] = {0}, b[3] = {0};
    assert_ok(sh_team_start(&team, 3));
    sh_team_run(team, add_one, a);
    sh_team_run(team, add_ten, b);
    sh_team_run(team, add_ten, a);
    sh_team_stop(team);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a[i], 11);
        assert_int_equal(b[i], 10);
    }
}

static void look_at_signals(void *context, uint32_t worker)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ((int *)context)[worker] = sigismember(&blocked, SIGINT);
}

static void workers_take_no_signals(void **state)
{
    (void)state;
    sh_team *team = NULL;
    int blocked[3] = {-1, -1, -1};
    assert_ok(sh_team_start(&team, 3));
    sh_team_run(team, look_at_signals, blocked);
    sh_team_stop(team);
    assert_int_equal(blocked[0], 0);
    assert_int_equal(blocked[1], 1);
    assert_int_equal(blocked[2], 1);
}

static void teams_start_and_stop(void **state)
{
    (void)state;
    sh_team *team = NULL;
    for (uint32_t size = 1; size <= 8; size++) {
        assert_ok(sh_team_start(&team, size));
        sh_team_stop(team);
    }
    team = NULL;
    assert_fails(sh_team_start(&team, 0), SH_INVALID, "a team needs at least one worker");
    assert_null(team);
    sh_team_stop(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_workers_run_every_turn), cmocka_unit_test(workers_run_at_once),
        cmocka_unit_test(each_turn_has_its_own_task), cmocka_unit_test(workers_take_no_signals),
        cmocka_unit_test(teams_start_and_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
