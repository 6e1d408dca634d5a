/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a call after a stop request even if the step's thread hangs in a disk, a driver or a
 * debugger, or because other devices hang. When it is overdue (node/job/overdue.h), the hang guard
 * saves what it can on another thread, for a limited time, and sends the observer SH_EVENT_HUNG,
 * which ends the program.
 *
 *     SH_TRY(sh_hang_guard_start(&guard, &options));
 *     ... prepare ...
 *     sh_hang_guard_watch_lanes(guard, lanes);
 *     sh_hang_guard_set_savable(guard, true);
 *     sh_hang_guard_set_occupation(guard, SH_OCCUPATION_STEPS);
 *     ... the training loop, with a note before it waits or writes ...
 *     sh_hang_guard_set_savable(guard, false);            // all is saved
 *     sh_hang_guard_watch_lanes(guard, NULL);             // before the lanes are freed
 *     sh_hang_guard_stop(guard);
 *
 * Without a request it only watches. Calls ignore NULL.
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_JOB_HANG_GUARD_H
#define SHOAL_NODE_JOB_HANG_GUARD_H

#include "base/stop.h"
#include "node/job/overdue.h"
#include "train/lanes.h"

typedef struct sh_hang_guard sh_hang_guard;

typedef struct sh_rescue {
    uint64_t steps; /* of the checkpoint; 0: none */
    char text[256]; /* "a checkpoint of step 12 was written" */
} sh_rescue;

typedef struct sh_hang_guard_options {
    const sh_stop *stop; /* borrowed until sh_hang_guard_stop, like all here; NULL: no hang guard */
    const char *others;  /* whom it waits for: "the other devices" */

    /* Saves what it can and reports it, on the hang guard's thread, at most once, without locks
     * that the step's thread may hold. NULL: nothing to save. */
    void (*save)(void *context, sh_rescue *rescue);
    void *context;

    sh_observer *observer; /* may be NULL */
    void *observer_context;

    const sh_overdue_limit *limits; /* NULL: the usual ones */
    int look_ms;                    /* between looks; 0: the usual */
} sh_hang_guard_options;

/* *guard is owned: stop it. The options are copied. */
sh_status sh_hang_guard_start(sh_hang_guard **guard,
                              const sh_hang_guard_options *options) SHOAL_CHECKED;

/* Returns the previous occupation of the step's thread; the first is SH_OCCUPATION_START. */
sh_occupation sh_hang_guard_set_occupation(sh_hang_guard *guard, sh_occupation occupation);

/* Sets the lanes whose progress counts; borrowed until the next call. NULL: none; call it so before
 * they are freed. */
void sh_hang_guard_watch_lanes(sh_hang_guard *guard, const sh_lanes *lanes);

/* Initially false. Waits for a running `save`. */
void sh_hang_guard_set_savable(sh_hang_guard *guard, bool offers);

/* Waits for a running `save`. */
void sh_hang_guard_stop(sh_hang_guard *guard);

#endif
