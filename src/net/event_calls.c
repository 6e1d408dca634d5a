/* SPDX-License-Identifier: Apache-2.0 */
#include "net/event_calls.h"

#include <event2/event.h>
#include <event2/thread.h>

#include "base/library.h"

#define LIST(VALUE, NOTHING)                                                                       \
    NOTHING(event_active, (struct event * a, int b, short c), (a, b, c))                           \
    VALUE(int, event_add, (struct event * a, const struct timeval *b), (a, b))                     \
    VALUE(int, event_assign,                                                                       \
          (struct event * a, struct event_base * b, evutil_socket_t c, short d,                    \
           event_callback_fn e, void *f),                                                          \
          (a, b, c, d, e, f))                                                                      \
    NOTHING(event_base_free, (struct event_base * a), (a))                                         \
    VALUE(int, event_base_loop, (struct event_base * a, int b), (a, b))                            \
    VALUE(int, event_base_loopbreak, (struct event_base * a), (a))                                 \
    VALUE(struct event_base *, event_base_new_with_config, (const struct event_config *a), (a))    \
    NOTHING(event_config_free, (struct event_config * a), (a))                                     \
    VALUE(struct event_config *, event_config_new, (void), ())                                     \
    VALUE(int, event_config_set_max_dispatch_interval,                                             \
          (struct event_config * a, const struct timeval *b, int c, int d), (a, b, c, d))          \
    VALUE(int, event_del, (struct event * a), (a))                                                 \
    NOTHING(event_free, (struct event * a), (a))                                                   \
    VALUE(struct event *, event_new,                                                               \
          (struct event_base * a, evutil_socket_t b, short c, event_callback_fn d, void *e),       \
          (a, b, c, d, e))                                                                         \
    VALUE(int, evthread_use_pthreads, (void), ())                                                  \
    VALUE(int, evutil_make_socket_closeonexec, (evutil_socket_t a), (a))                           \
    VALUE(int, evutil_make_socket_nonblocking, (evutil_socket_t a), (a))
SH_LIBRARY_FUNCTIONS(LIST)

sh_status sh_event_load(void)
{
    /* This library also loads libevent_core. */
    static sh_library library =
        SH_LIBRARY("libevent_pthreads-2.1.so.7", "libevent-pthreads-2.1-7", names);
    return sh_library_load_once(&calls, &library);
}
