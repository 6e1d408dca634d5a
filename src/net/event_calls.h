/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libevent when the first event loop starts. A device that trains alone has no event loop.
 *
 *     SH_TRY(sh_event_load());
 *     struct event_base *base = event_base_new_with_config(config);
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_EVENT_CALLS_H
#define SHOAL_NET_EVENT_CALLS_H

#include "base/fail.h"

/* Call it before libevent's functions. SH_UNSUPPORTED: the message names the missing package. */
sh_status sh_event_load(void) SHOAL_CHECKED;

#endif
