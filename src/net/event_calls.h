/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libevent, loaded with the first event loop: a device that trains alone has none.
 *
 *     SH_TRY(sh_event_load());
 *     struct event_base *base = event_base_new_with_config(config);
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_EVENT_CALLS_H
#define SHOAL_NET_EVENT_CALLS_H

#include "base/fail.h"

/* To be called before any of libevent's functions; SH_UNSUPPORTED says which package is missing. */
sh_status sh_event_load(void) SHOAL_CHECKED;

#endif
