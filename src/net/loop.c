/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any thread makes the event `wake` active; its callback takes the list of posted tasks and runs it
 * without the mutex, so tasks posted meanwhile run in the next round. libevent would run an event
 * that keeps becoming active without polling the sockets. CALLBACKS_A_LOOK bounds the number of
 * callbacks between polls.
 */
#include "net/loop.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"
#include "net/event_calls.h"

#define CALLBACKS_A_LOOK 16

struct post {
    struct post *next;
    sh_loop_task *task;
    void *context;
    struct call *call; /* on the stack of sh_loop_call; NULL: a post on the heap */
};

struct call {
    struct post post;
    pthread_cond_t returned; /* with the loop's lock */
    bool done;
};

struct sh_loop {
    struct event_base *base;
    struct event *wake;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below, and `thread` while the thread starts */
    struct post *first, **last;
    size_t posts;
    bool ending;
};

struct sh_timer {
    sh_loop *loop;
    struct event *event;
    sh_loop_task *task;
    void *context;
    uint32_t period_ms;
};

static void append(sh_loop *loop, struct post *post)
{
    *loop->last = post;
    loop->last = &post->next;
    loop->posts++;
}

static void run_posts(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    sh_loop *loop = argument;
    pthread_mutex_lock(&loop->lock);
    struct post *post = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    loop->posts = 0;
    pthread_mutex_unlock(&loop->lock);

    while (post != NULL) {
        struct post *next = post->next;
        struct call *call = post->call;
        post->task(post->context);
        if (call != NULL) {
            pthread_mutex_lock(&loop->lock);
            call->done = true;
            pthread_cond_signal(&call->returned);
            pthread_mutex_unlock(&loop->lock);
        } else {
            free(post);
        }
        post = next;
    }

    pthread_mutex_lock(&loop->lock);
    const bool more = loop->first != NULL;
    const bool over = loop->ending && !more;
    pthread_mutex_unlock(&loop->lock);
    if (over)
        event_base_loopbreak(loop->base);
    else if (more)
        event_active(loop->wake, EV_READ, 0);
}

static void *loop_main(void *argument)
{
    sh_loop *loop = argument;
    /* sh_loop_start holds the lock until `thread` is written. */
    pthread_mutex_lock(&loop->lock);
    pthread_mutex_unlock(&loop->lock);
    event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static void use_threads(void)
{
    evthread_use_pthreads();
}

static void loop_free(sh_loop *loop)
{
    if (loop->wake != NULL)
        event_free(loop->wake);
    if (loop->base != NULL)
        event_base_free(loop->base);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

sh_status sh_loop_start(sh_loop **loop)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    SH_TRY(sh_event_load());
    pthread_once(&once, use_threads);

    sh_loop *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the event loop");
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->last = &fresh->first;
    struct event_config *config = event_config_new();
    if (config != NULL &&
        event_config_set_max_dispatch_interval(config, NULL, CALLBACKS_A_LOOK, 0) == 0)
        fresh->base = event_base_new_with_config(config);
    if (config != NULL)
        event_config_free(config);
    if (fresh->base != NULL)
        fresh->wake = event_new(fresh->base, -1, EV_READ | EV_PERSIST, run_posts, fresh);
    if (fresh->wake == NULL) {
        loop_free(fresh);
        return sh_fail(SH_LIMIT, "cannot make the event loop: out of memory or open files");
    }
    pthread_mutex_lock(&fresh->lock);
    const int error = sh_thread_start(&fresh->thread, loop_main, fresh);
    pthread_mutex_unlock(&fresh->lock);
    if (error != 0) {
        loop_free(fresh);
        return sh_fail_errno(error, "starting the event loop's thread");
    }
    *loop = fresh;
    return SH_OK;
}

sh_status sh_loop_post(sh_loop *loop, sh_loop_task *task, void *context)
{
    struct post *post = calloc(1, sizeof *post);
    if (post == NULL)
        return sh_fail_memory(sizeof *post, "a posted task");
    post->task = task;
    post->context = context;
    pthread_mutex_lock(&loop->lock);
    const bool full = loop->posts >= SH_LOOP_POSTS_MAX;
    if (!full)
        append(loop, post);
    pthread_mutex_unlock(&loop->lock);
    if (full) {
        free(post);
        return sh_fail(SH_LIMIT, "the event loop has %d tasks waiting", SH_LOOP_POSTS_MAX);
    }
    event_active(loop->wake, EV_READ, 0);
    return SH_OK;
}

void sh_loop_call(sh_loop *loop, sh_loop_task *task, void *context)
{
    assert(!sh_loop_is_current(loop));
    struct call call = {.post = {.task = task, .context = context}};
    call.post.call = &call;
    pthread_cond_init(&call.returned, NULL);
    pthread_mutex_lock(&loop->lock);
    append(loop, &call.post);
    pthread_mutex_unlock(&loop->lock);
    event_active(loop->wake, EV_READ, 0);
    pthread_mutex_lock(&loop->lock);
    while (!call.done)
        pthread_cond_wait(&call.returned, &loop->lock);
    pthread_mutex_unlock(&loop->lock);
    pthread_cond_destroy(&call.returned);
}

bool sh_loop_is_current(const sh_loop *loop)
{
    return pthread_equal(loop->thread, pthread_self()) != 0;
}

void sh_loop_stop(sh_loop *loop)
{
    if (loop == NULL)
        return;
    assert(!sh_loop_is_current(loop));
    pthread_mutex_lock(&loop->lock);
    loop->ending = true;
    pthread_mutex_unlock(&loop->lock);
    event_active(loop->wake, EV_READ, 0);
    pthread_join(loop->thread, NULL);
    loop_free(loop);
}

struct event_base *sh_loop_base(sh_loop *loop)
{
    return loop->base;
}

static sh_status arm(sh_timer *timer, uint32_t after_ms)
{
    const struct timeval after = {.tv_sec = (time_t)(after_ms / 1000),
                                  .tv_usec = (suseconds_t)(after_ms % 1000) * 1000};
    if (event_add(timer->event, &after) != 0)
        return sh_fail_memory(sizeof(void *), "a running timer");
    return SH_OK;
}

static void timer_fired(evutil_socket_t fd, short what, void *argument)
{
    (void)fd;
    (void)what;
    sh_timer *timer = argument;
    /* Cannot fail: the slot in libevent's heap has just become free. */
    const bool set = timer->period_ms == 0 || arm(timer, timer->period_ms) == SH_OK;
    assert(set && "cannot rearm a timer that fired");
    (void)set;
    timer->task(timer->context); /* last, because the task may free the timer */
}

sh_status sh_timer_new(sh_timer **timer, sh_loop *loop, sh_loop_task *task, void *context)
{
    sh_timer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a timer");
    *fresh = (sh_timer){.loop = loop, .task = task, .context = context};
    fresh->event = event_new(loop->base, -1, 0, timer_fired, fresh);
    if (fresh->event == NULL) {
        free(fresh);
        return sh_fail_memory(sizeof *fresh, "a timer");
    }
    *timer = fresh;
    return SH_OK;
}

sh_status sh_timer_start(sh_timer *timer, uint32_t after_ms, uint32_t period_ms)
{
    assert(sh_loop_is_current(timer->loop));
    timer->period_ms = period_ms;
    return arm(timer, after_ms);
}

void sh_timer_free(sh_timer *timer)
{
    if (timer == NULL)
        return;
    assert(sh_loop_is_current(timer->loop));
    event_free(timer->event);
    free(timer);
}
