/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a process that is told to end and may be unable to: waits for a request to stop, and acts if
 * the course has not ended some time after it, or where somebody says that it does not end.
 *
 *     SH_TRY(sh_watchdog_start(&watchdog, &(sh_watchdog_options){stop, 300, NULL, save, context}));
 *     ... the course ...
 *     sh_watchdog_stop(watchdog);
 *
 * Threads: each call from one thread, which is not the watchdog's.
 */
#ifndef SHOAL_NODE_WATCHDOG_H
#define SHOAL_NODE_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/stop.h"

typedef struct sh_watchdog sh_watchdog;

typedef struct sh_watchdog_options {
    const sh_stop *stop; /* borrowed until sh_watchdog_stop; NULL: never asks */
    int patience_ms;     /* between the request and what is done; with `look`, between two looks */

    /* Whether the course will not end; asked from the start on, and `asked` says whether there was
     * a request. NULL: it will not, once patience is over. On the watchdog's thread, as the next.
     */
    bool (*look)(void *context, bool asked);
    void (*on_overdue)(void *context); /* required; once, or each time that `look` says so */
    void *context;                     /* borrowed likewise */
} sh_watchdog_options;

/* The options are copied; *watchdog is owned: stop it. */
sh_status sh_watchdog_start(sh_watchdog **watchdog,
                            const sh_watchdog_options *options) SHOAL_CHECKED;

/* Waits for on_overdue where it is under way; afterwards it is not called. NULL is fine. */
void sh_watchdog_stop(sh_watchdog *watchdog);

#endif
