/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event loop on a thread of its own: sockets, timers and posted tasks take turns on it.
 *
 *     sh_loop *loop;
 *     SH_TRY(sh_loop_start(&loop));
 *     SH_TRY(sh_loop_post(loop, say_hello, node));   // runs soon, on the loop's thread
 *     sh_loop_call(loop, close_everything, node);    // runs and waits for it
 *     sh_loop_stop(loop);
 *
 * Threads: each function says. "Loop only" means: on the loop's thread, where the tasks, the timers
 * and the callbacks of channels and listeners run. Signals are blocked on that thread.
 */
#ifndef SHOAL_NET_LOOP_H
#define SHOAL_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* Most tasks that wait to be run; more are refused with SH_LIMIT. */
#define SH_LOOP_POSTS_MAX 65536

typedef struct sh_loop sh_loop;
typedef struct sh_timer sh_timer;

typedef void sh_loop_task(void *context);

/* Starts the thread. `loop` is owned: sh_loop_stop. Any thread. */
sh_status sh_loop_start(sh_loop **loop) SHOAL_CHECKED;

/*
 * Runs task(context) on the loop's thread soon, in the order of the posts. `context` is borrowed
 * until the task has run. Any thread. SH_NO_MEMORY, SH_LIMIT.
 */
sh_status sh_loop_post(sh_loop *loop, sh_loop_task *task, void *context) SHOAL_CHECKED;

/* As sh_loop_post, and returns when the task has returned. Any thread but the loop's. */
void sh_loop_call(sh_loop *loop, sh_loop_task *task, void *context);

/* Whether this is the loop's thread; for assertions. Any thread. */
bool sh_loop_is_current(const sh_loop *loop);

/*
 * Runs what was posted before, ends the thread, joins it and frees the loop. Timers, channels and
 * listeners of this loop must have been freed or closed by their owners, and nothing may be posted
 * any more. NULL is fine. Any thread but the loop's.
 */
void sh_loop_stop(sh_loop *loop);

/* A timer that is not running. Owned: sh_timer_free. Loop only, as all below. */
sh_status sh_timer_new(sh_timer **timer, sh_loop *loop, sh_loop_task *task,
                       void *context) SHOAL_CHECKED;

/*
 * Runs the task after `after_ms`, then every `period_ms` (0: once). A timer that runs is set anew.
 * The task may start or free its own timer.
 */
sh_status sh_timer_start(sh_timer *timer, uint32_t after_ms, uint32_t period_ms) SHOAL_CHECKED;

/* The task is not run any more. NULL is fine. */
void sh_timer_free(sh_timer *timer);

/* For the other files of this layer: libevent's base. Borrowed until sh_loop_stop. */
struct event_base *sh_loop_base(sh_loop *loop);

#endif
