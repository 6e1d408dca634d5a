/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a process that may hang: waits for a stop request, and acts if the training loop has not
 * ended some time later, or if `look` reports that it will not end.
 *
 *     SH_TRY(sh_watchdog_start(&watchdog, &(sh_watchdog_options){stop, 300, NULL, save, context}));
 *     ... the training loop ...
 *     sh_watchdog_stop(watchdog);
 *
 * Threads: all calls from one thread, not the watchdog's.
 */
#ifndef SHOAL_NODE_WATCHDOG_H
#define SHOAL_NODE_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stop.h"

typedef struct sh_watchdog sh_watchdog;

typedef struct sh_watchdog_options {
    const sh_stop *stop; /* borrowed until sh_watchdog_stop; NULL: never requested */
    int patience_ms;     /* after the request; with `look`, between looks */

    /* True: the training loop will not end. Called from the start; `asked`: a stop was requested.
     * NULL: true after `patience_ms`. On the watchdog's thread, like the next. */
    bool (*look)(void *context, bool asked);
    void (*on_overdue)(void *context); /* required; once, or each time that `look` is true */
    void *context;                     /* borrowed like `stop` */
} sh_watchdog_options;

/* The options are copied; *watchdog is owned: stop it. */
sh_status sh_watchdog_start(sh_watchdog **watchdog,
                            const sh_watchdog_options *options) SHOAL_CHECKED;

/* Waits for a running on_overdue, which is not called again. Accepts NULL. */
void sh_watchdog_stop(sh_watchdog *watchdog);

#endif
