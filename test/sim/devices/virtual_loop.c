/* SPDX-License-Identifier: Apache-2.0 */
/* net/loop.h in virtual time: a list of tasks by due time, then by arrival. */
#include <stdlib.h>

#include "virtual_network.h"

typedef struct item {
    struct item *next;
    uint64_t due_ns;
    sh_loop_task *task;
    void *context;
    sh_timer *timer; /* NULL: a task */
} item;

struct sh_loop {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t news;
    item *first;
    uint32_t posts;
    bool stopping;
    uint32_t device;
};

struct sh_timer {
    sh_loop *loop;
    sh_loop_task *task;
    void *context;
    uint64_t period_ns;
    item *waiting;
};

static _Thread_local const sh_loop *current;

static void insert(sh_loop *loop, item *fresh)
{
    item **place = &loop->first;
    while (*place != NULL && (*place)->due_ns <= fresh->due_ns)
        place = &(*place)->next;
    fresh->next = *place;
    *place = fresh;
    pthread_cond_signal(&loop->news);
}

static void take_out(sh_loop *loop, item *gone)
{
    for (item **place = &loop->first; *place != NULL; place = &(*place)->next)
        if (*place == gone) {
            *place = gone->next;
            free(gone);
            return;
        }
}

static bool add(sh_loop *loop, uint64_t due_ns, sh_loop_task *task, void *context)
{
    item *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return false;
    *fresh = (item){.due_ns = due_ns, .task = task, .context = context};
    insert(loop, fresh);
    return true;
}

void loop_at(sh_loop *loop, uint64_t due_ns, sh_loop_task *task, void *context)
{
    if (!add(loop, due_ns, task, context))
        abort();
}

static void run_item(sh_loop *loop, item *due)
{
    sh_loop_task *const task = due->task;
    void *const context = due->context;
    sh_timer *timer = due->timer;
    if (timer != NULL)
        timer->waiting = NULL;
    free(due);
    if (timer != NULL && timer->period_ns > 0) {
        item *again = calloc(1, sizeof *again);
        if (again == NULL)
            abort();
        *again = (item){.due_ns = virtual_now_ns() + timer->period_ns,
                        .task = task,
                        .context = context,
                        .timer = timer};
        timer->waiting = again;
        insert(loop, again);
    }
    pthread_mutex_unlock(&loop->lock);
    task(context);
    pthread_mutex_lock(&loop->lock);
}

static void *run(void *argument)
{
    sh_loop *loop = argument;
    current = loop;
    pthread_mutex_lock(&loop->lock);
    for (;;) {
        item *first = loop->first;
        if (first != NULL && first->due_ns <= virtual_now_ns()) {
            loop->first = first->next;
            run_item(loop, first);
            continue;
        }
        if (loop->stopping)
            break;
        if (first == NULL) {
            pthread_cond_wait(&loop->news, &loop->lock);
        } else {
            const uint64_t left_ns = first->due_ns - virtual_now_ns();
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until);
            const uint64_t then_ns = (uint64_t)until.tv_nsec + left_ns;
            until.tv_sec += (time_t)(then_ns / 1000000000u);
            until.tv_nsec = (long)(then_ns % 1000000000u);
            pthread_cond_timedwait(&loop->news, &loop->lock, &until);
        }
    }
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

sh_status sh_loop_start(sh_loop **loop)
{
    sh_loop *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a loop");
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->news, NULL);
    fresh->device = virtual_this_device();
    const int error = pthread_create(&fresh->thread, NULL, run, fresh);
    if (error != 0) {
        free(fresh);
        return sh_fail_errno(error, "starting a thread");
    }
    *loop = fresh;
    return SH_OK;
}

sh_status sh_loop_post(sh_loop *loop, sh_loop_task *task, void *context)
{
    pthread_mutex_lock(&loop->lock);
    const bool good = add(loop, virtual_now_ns(), task, context);
    pthread_mutex_unlock(&loop->lock);
    return good ? SH_OK : sh_fail_memory(sizeof(item), "a task");
}

typedef struct call {
    sh_loop_task *task;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t returned;
    bool done;
} call;

static void run_call(void *context)
{
    call *asked = context;
    asked->task(asked->context);
    pthread_mutex_lock(&asked->lock);
    asked->done = true;
    pthread_cond_signal(&asked->returned);
    pthread_mutex_unlock(&asked->lock);
}

void sh_loop_call(sh_loop *loop, sh_loop_task *task, void *context)
{
    call asked = {.task = task, .context = context};
    pthread_mutex_init(&asked.lock, NULL);
    pthread_cond_init(&asked.returned, NULL);
    pthread_mutex_lock(&loop->lock);
    if (!add(loop, virtual_now_ns(), run_call, &asked))
        abort();
    pthread_mutex_unlock(&loop->lock);
    pthread_mutex_lock(&asked.lock);
    while (!asked.done)
        pthread_cond_wait(&asked.returned, &asked.lock);
    pthread_mutex_unlock(&asked.lock);
}

bool sh_loop_is_current(const sh_loop *loop)
{
    return current == loop;
}

void sh_loop_stop(sh_loop *loop)
{
    if (loop == NULL)
        return;
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    pthread_cond_signal(&loop->news);
    pthread_mutex_unlock(&loop->lock);
    pthread_join(loop->thread, NULL);
    if (loop_has_channels(loop))
        violated("closed", "device %u ends with open channels", loop->device);
    while (loop->first != NULL)
        take_out(loop, loop->first);
    free(loop);
}

sh_status sh_timer_new(sh_timer **timer, sh_loop *loop, sh_loop_task *task, void *context)
{
    sh_timer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a timer");
    *fresh = (sh_timer){.loop = loop, .task = task, .context = context};
    *timer = fresh;
    return SH_OK;
}

static void stop_timer(sh_timer *timer)
{
    if (timer->waiting != NULL)
        take_out(timer->loop, timer->waiting);
    timer->waiting = NULL;
    timer->period_ns = 0;
}

sh_status sh_timer_start(sh_timer *timer, uint32_t after_ms, uint32_t period_ms)
{
    item *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a timer");
    pthread_mutex_lock(&timer->loop->lock);
    stop_timer(timer);
    *fresh = (item){.due_ns = virtual_now_ns() + after_ms * VIRTUAL_MS,
                    .task = timer->task,
                    .context = timer->context,
                    .timer = timer};
    timer->period_ns = period_ms * VIRTUAL_MS;
    timer->waiting = fresh;
    insert(timer->loop, fresh);
    pthread_mutex_unlock(&timer->loop->lock);
    return SH_OK;
}

void sh_timer_free(sh_timer *timer)
{
    if (timer == NULL)
        return;
    pthread_mutex_lock(&timer->loop->lock);
    stop_timer(timer);
    pthread_mutex_unlock(&timer->loop->lock);
    free(timer);
}
