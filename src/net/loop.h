/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event loop with its own thread. The thread serves sockets, timers and posted tasks.
 *
 *     sh_loop *loop;
 *     SH_TRY(sh_loop_start(&loop));
 *     SH_TRY(sh_loop_post(loop, say_hello, node));   // runs soon, on the loop's thread
 *     sh_loop_call(loop, close_everything, node);    // runs the task and waits for it
 *     sh_loop_stop(loop);
 *
 * Threads: as stated at each function. "Loop only" means on the loop's thread, which also runs the
 * tasks, the timers and the callbacks of channels and listeners. The thread blocks signals.
 */
#ifndef SHOAL_NET_LOOP_H
#define SHOAL_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/* Most waiting tasks. */
#define SH_LOOP_POSTS_MAX 65536

typedef struct sh_loop sh_loop;
typedef struct sh_timer sh_timer;

typedef void sh_loop_task(void *context);

/* `loop` is owned: sh_loop_stop. Any thread. */
sh_status sh_loop_start(sh_loop **loop) SHOAL_CHECKED;

/* Queues a task; tasks run in the order of the posts. `context` is borrowed until the task has run.
 * Any thread. SH_NO_MEMORY, SH_LIMIT. */
sh_status sh_loop_post(sh_loop *loop, sh_loop_task *task, void *context) SHOAL_CHECKED;

/* Posts a task and waits until it has returned. Never fails. Any thread except the loop's. */
void sh_loop_call(sh_loop *loop, sh_loop_task *task, void *context);

/* Used in assertions. Any thread. */
bool sh_loop_is_current(const sh_loop *loop);

/*
 * Runs the waiting tasks, joins the thread, and frees the loop. The owners must have freed or
 * closed all its timers, channels and listeners. No task may be posted after this call. NULL is
 * fine. Any thread except the loop's.
 */
void sh_loop_stop(sh_loop *loop);

/* Makes a stopped timer, owned: sh_timer_free. `context` is borrowed until then. This and all
 * below: loop only. */
sh_status sh_timer_new(sh_timer **timer, sh_loop *loop, sh_loop_task *task,
                       void *context) SHOAL_CHECKED;

/* Runs the task after `after_ms`, then every `period_ms` (0: once). Restarts a running timer. The
 * task may start or free it. */
sh_status sh_timer_start(sh_timer *timer, uint32_t after_ms, uint32_t period_ms) SHOAL_CHECKED;

/* NULL is fine. */
void sh_timer_free(sh_timer *timer);

/* libevent's base, for src/net. Borrowed until sh_loop_stop. */
struct event_base *sh_loop_base(sh_loop *loop);

#endif
