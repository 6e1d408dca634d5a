/* SPDX-License-Identifier: Apache-2.0 */
#include "net/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"

#define POSTERS 4
#define POSTS 500

static sh_loop *started(void)
{
    sh_loop *loop = NULL;
    assert_ok(sh_loop_start(&loop));
    return loop;
}

struct trace {
    sh_loop *loop;
    uint32_t seen[POSTERS]; /* loop only */
    bool in_order, on_loop;
};

struct mark {
    struct trace *trace;
    uint32_t poster, turn;
};

static void note(void *context)
{
    struct mark *mark = context;
    struct trace *trace = mark->trace;
    trace->in_order = trace->in_order && trace->seen[mark->poster] == mark->turn;
    trace->on_loop = trace->on_loop && sh_loop_is_current(trace->loop);
    trace->seen[mark->poster]++;
}

struct poster {
    struct trace *trace;
    uint32_t number;
    struct mark marks[POSTS];
    bool failed;
};

static void *post_many(void *argument)
{
    struct poster *poster = argument;
    for (uint32_t i = 0; i < POSTS; i++) {
        poster->marks[i] = (struct mark){poster->trace, poster->number, i};
        if (sh_loop_post(poster->trace->loop, note, &poster->marks[i]) != SH_OK)
            poster->failed = true;
    }
    return NULL;
}

static void nothing(void *context)
{
    (void)context;
}

static void posts_of_a_thread_run_in_order(void **state)
{
    (void)state;
    static struct poster posters[POSTERS];
    struct trace trace = {.loop = started(), .in_order = true, .on_loop = true};
    pthread_t threads[POSTERS];
    for (uint32_t i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){.trace = &trace, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, post_many, &posters[i]), 0);
    }
    for (uint32_t i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    sh_loop_call(trace.loop, nothing, NULL);
    for (uint32_t i = 0; i < POSTERS; i++) {
        assert_false(posters[i].failed);
        assert_int_equal(trace.seen[i], POSTS);
    }
    assert_true(trace.in_order && trace.on_loop);
    assert_false(sh_loop_is_current(trace.loop));
    sh_loop_stop(trace.loop);
}

static void stopping_runs_what_was_posted(void **state)
{
    (void)state;
    struct trace trace = {.loop = started(), .in_order = true, .on_loop = true};
    struct mark marks[100];
    for (uint32_t i = 0; i < 100; i++) {
        marks[i] = (struct mark){&trace, 0, i};
        assert_ok(sh_loop_post(trace.loop, note, &marks[i]));
    }
    sh_loop_stop(trace.loop);
    assert_int_equal(trace.seen[0], 100);
    sh_loop_stop(NULL);
}

static void block_on_pipe(void *context)
{
    const int *ends = context; /* 0, 1: started; 2, 3: go on */
    char byte = 'x';
    if (write(ends[1], &byte, 1) != 1 || read(ends[2], &byte, 1) != 1)
        abort();
}

static void a_full_queue_refuses(void **state)
{
    (void)state;
    sh_loop *loop = started();
    int ends[4];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(ends + 2), 0);
    assert_ok(sh_loop_post(loop, block_on_pipe, ends));
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    for (int i = 0; i < SH_LOOP_POSTS_MAX; i++)
        assert_ok(sh_loop_post(loop, nothing, NULL));
    assert_fails(sh_loop_post(loop, nothing, NULL), SH_LIMIT, "65536 tasks waiting");
    assert_int_equal(write(ends[3], "x", 1), 1);
    sh_loop_stop(loop);
    for (int i = 0; i < 4; i++)
        close(ends[i]);
}

struct ticks {
    sh_loop *loop;
    sh_timer *timer, *never;
    int fired, wanted;
    bool again, failed;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool finished;
};

static void tick(void *context)
{
    struct ticks *ticks = context;
    if (++ticks->fired == ticks->wanted) {
        sh_timer_free(ticks->timer);
        pthread_mutex_lock(&ticks->lock);
        ticks->finished = true;
        pthread_cond_signal(&ticks->done);
        pthread_mutex_unlock(&ticks->lock);
    } else if (ticks->again) {
        ticks->failed |= sh_timer_start(ticks->timer, 1, 0) != SH_OK;
    }
}

static void never(void *context)
{
    ((struct ticks *)context)->failed = true;
}

static void start_ticks(void *context)
{
    struct ticks *ticks = context;
    ticks->failed |= sh_timer_new(&ticks->timer, ticks->loop, tick, ticks) != SH_OK;
    ticks->failed |= sh_timer_new(&ticks->never, ticks->loop, never, ticks) != SH_OK;
    ticks->failed |= sh_timer_start(ticks->never, 0, 0) != SH_OK;
    sh_timer_free(ticks->never);
    ticks->failed |= sh_timer_start(ticks->timer, 0, ticks->again ? 0 : 1) != SH_OK;
}

static void timers_fire_once_or_again_and_stop(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct ticks ticks = {.loop = started(), .wanted = 5, .again = again != 0};
        pthread_mutex_init(&ticks.lock, NULL);
        pthread_cond_init(&ticks.done, NULL);
        sh_loop_call(ticks.loop, start_ticks, &ticks);
        pthread_mutex_lock(&ticks.lock);
        while (!ticks.finished)
            pthread_cond_wait(&ticks.done, &ticks.lock);
        pthread_mutex_unlock(&ticks.lock);
        sh_loop_stop(ticks.loop);
        assert_false(ticks.failed);
        assert_int_equal(ticks.fired, 5);
        pthread_cond_destroy(&ticks.done);
        pthread_mutex_destroy(&ticks.lock);
    }
}

struct rally {
    sh_loop *loop;
    sh_timer *timer;
    bool over, failed; /* loop only */
};

static void post_again(void *context)
{
    struct rally *rally = context;
    if (!rally->over)
        rally->failed |= sh_loop_post(rally->loop, post_again, rally) != SH_OK;
}

static void end_rally(void *context)
{
    struct rally *rally = context;
    rally->over = true;
    sh_timer_free(rally->timer);
}

static void start_rally(void *context)
{
    struct rally *rally = context;
    rally->failed |= sh_timer_new(&rally->timer, rally->loop, end_rally, rally) != SH_OK;
    rally->failed |= sh_timer_start(rally->timer, 1, 0) != SH_OK;
    post_again(rally);
}

/* sh_loop_stop runs posted tasks, so this ends only if timers are polled. */
static void a_task_that_posts_itself_lets_others_run(void **state)
{
    (void)state;
    struct rally rally = {.loop = started()};
    sh_loop_call(rally.loop, start_rally, &rally);
    sh_loop_stop(rally.loop);
    assert_true(rally.over);
    assert_false(rally.failed);
}

static void look_at_signals(void *context)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    *(bool *)context = sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGTERM) == 1;
}

static void signals_are_blocked_on_the_loop(void **state)
{
    (void)state;
    sh_loop *loop = started();
    bool blocked = false;
    sh_loop_call(loop, look_at_signals, &blocked);
    sh_loop_stop(loop);
    assert_true(blocked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_of_a_thread_run_in_order),
        cmocka_unit_test(stopping_runs_what_was_posted),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(timers_fire_once_or_again_and_stop),
        cmocka_unit_test(a_task_that_posts_itself_lets_others_run),
        cmocka_unit_test(signals_are_blocked_on_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
