/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three threads: the step's, which may hang anywhere; the watchdog's, which limits every wait; and
 * the saver's, which may hang in the same lock or disk as the step's. The saver starts with the
 * hang guard, because starting a thread may fail later.
 *
 * If the step's thread continues while the saver works, nothing is reported.
 */
#include "node/job/hang_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "node/job/watchdog.h"

#define LOOK_MS 500
#define SAVE_PART 3 /* times the allowed time without progress while writing files */

struct sh_hang_guard {
    sh_hang_guard_options options;
    sh_watchdog *watchdog;
    sh_overdue overdue; /* of the watchdog's thread, like the next */
    bool told;

    atomic_uint occupation;
    atomic_uint_fast64_t notes;

    pthread_mutex_t watching; /* guards `lanes`; no holder waits */
    const sh_lanes *lanes;

    pthread_t saver;
    bool has_saver;
    pthread_mutex_t saving; /* held while `save` runs; guards `offers` */
    bool offers;

    pthread_mutex_t lock; /* guards all below; no holder waits */
    pthread_cond_t changed;
    enum { IDLE, ASKED, SAVED, OVER } state; /* of the saver */
    bool ending;
    sh_rescue rescue;
};

/* ---- the saver's thread ---------------------------------------------------------------------- */

static void *save(void *argument)
{
    sh_hang_guard *guard = argument;
    sh_rescue rescue = {.text = "everything is saved"};
    pthread_mutex_lock(&guard->lock);
    while (guard->state == IDLE)
        pthread_cond_wait(&guard->changed, &guard->lock);
    const bool asked = guard->state == ASKED;
    pthread_mutex_unlock(&guard->lock);
    if (!asked)
        return NULL;

    pthread_mutex_lock(&guard->saving);
    if (guard->offers)
        guard->options.save(guard->options.context, &rescue);
    pthread_mutex_unlock(&guard->saving);

    pthread_mutex_lock(&guard->lock);
    guard->rescue = rescue;
    if (guard->state == ASKED)
        guard->state = SAVED;
    pthread_cond_broadcast(&guard->changed);
    pthread_mutex_unlock(&guard->lock);
    return NULL;
}

/* ---- the watchdog's thread ------------------------------------------------------------------- */

static struct timespec moment_in(uint64_t ns)
{
    const uint64_t then_ns = sh_clock_now_ns(sh_clock_system()) + ns;
    return (struct timespec){.tv_sec = (time_t)(then_ns / 1000000000u),
                             .tv_nsec = (long)(then_ns % 1000000000u)};
}

static sh_rescue save_within(sh_hang_guard *guard, uint64_t limit_ns)
{
    sh_rescue rescue = {0};
    const struct timespec deadline = moment_in(limit_ns);
    if (!guard->has_saver || guard->overdue.seen.occupation == SH_OCCUPATION_START)
        return rescue;
    snprintf(rescue.text, sizeof rescue.text,
             "no checkpoint could be written within %llu s; those on the disk stay",
             (unsigned long long)(limit_ns / 1000000000u));
    pthread_mutex_lock(&guard->lock);
    if (guard->state == IDLE)
        guard->state = ASKED;
    pthread_cond_broadcast(&guard->changed);
    while (guard->state == ASKED && !guard->ending &&
           pthread_cond_timedwait(&guard->changed, &guard->lock, &deadline) == 0)
        ;
    if (guard->state == SAVED)
        rescue = guard->rescue;
    pthread_mutex_unlock(&guard->lock);
    return rescue;
}

static sh_liveness liveness_of(sh_hang_guard *guard)
{
    sh_liveness liveness = {(sh_occupation)atomic_load(&guard->occupation),
                            atomic_load(&guard->notes)};
    pthread_mutex_lock(&guard->watching);
    if (guard->lanes != NULL) {
        liveness.progress += sh_lanes_progress(guard->lanes);
        if (liveness.occupation == SH_OCCUPATION_STEPS && sh_lanes_are_waiting(guard->lanes))
            liveness.occupation = SH_OCCUPATION_WAIT;
    }
    pthread_mutex_unlock(&guard->watching);
    return liveness;
}

static bool look(void *context, bool asked)
{
    sh_hang_guard *guard = context;
    const bool overdue = sh_overdue_look(&guard->overdue, sh_clock_now_ns(sh_clock_system()),
                                         liveness_of(guard), asked);
    return overdue && !guard->told;
}

static void describe(const sh_hang_guard *guard, sh_occupation occupation, uint64_t still_ns,
                     char *text, size_t bytes)
{
    const double seconds = (double)still_ns * 1e-9;
    switch (occupation) {
    case SH_OCCUPATION_START:
        snprintf(text, bytes, "ended before the training began");
        break;
    case SH_OCCUPATION_WAIT:
        snprintf(text, bytes, "ended without the current step: nothing has come from %s for %.0f s",
                 guard->options.others, seconds);
        break;
    case SH_OCCUPATION_FILES:
        snprintf(text, bytes, "ended while writing files: the disk has hung for %.0f s", seconds);
        break;
    default:
        snprintf(text, bytes,
                 "ended without the current step: this device has computed nothing for %.0f s (a "
                 "disk, a driver or a debugger may block it)",
                 seconds);
    }
}

static void end(void *context)
{
    sh_hang_guard *guard = context;
    char what[256], text[SH_MESSAGE_BYTES];
    const sh_liveness seen = guard->overdue.seen;
    const sh_rescue rescue =
        save_within(guard, sh_overdue_limit_ns(&guard->overdue, SH_OCCUPATION_FILES) / SAVE_PART);
    const sh_liveness now = liveness_of(guard);
    pthread_mutex_lock(&guard->lock);
    const bool ending = guard->ending;
    pthread_mutex_unlock(&guard->lock);
    const bool moved = now.occupation != seen.occupation || now.progress != seen.progress;
    if (ending || (moved && seen.occupation != SH_OCCUPATION_START))
        return;
    guard->told = true;
    describe(guard, seen.occupation, guard->overdue.still_ns, what, sizeof what);
    snprintf(text, sizeof text, "%s%s%s", what, rescue.text[0] != '\0' ? "; " : "", rescue.text);
    if (guard->options.observer != NULL)
        guard->options.observer(
            guard->options.observer_context,
            &(sh_event){.kind = SH_EVENT_HUNG, .text = text, .total_step = rescue.steps});
}

/* ---- the step's thread ----------------------------------------------------------------------- */

sh_occupation sh_hang_guard_set_occupation(sh_hang_guard *guard, sh_occupation occupation)
{
    if (guard == NULL)
        return occupation;
    atomic_fetch_add(&guard->notes, 1);
    return (sh_occupation)atomic_exchange(&guard->occupation, occupation);
}

void sh_hang_guard_watch_lanes(sh_hang_guard *guard, const sh_lanes *lanes)
{
    if (guard == NULL)
        return;
    pthread_mutex_lock(&guard->watching);
    guard->lanes = lanes;
    pthread_mutex_unlock(&guard->watching);
}

void sh_hang_guard_set_savable(sh_hang_guard *guard, bool offers)
{
    if (guard == NULL)
        return;
    pthread_mutex_lock(&guard->saving);
    guard->offers = offers;
    pthread_mutex_unlock(&guard->saving);
}

sh_status sh_hang_guard_start(sh_hang_guard **guard, const sh_hang_guard_options *options)
{
    const int look_ms = options->look_ms != 0 ? options->look_ms : LOOK_MS;
    if (options->stop == NULL) {
        *guard = NULL;
        return SH_OK;
    }
    sh_hang_guard *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a hang guard");
    fresh->options = *options;
    fresh->overdue = (sh_overdue){
        .limits = options->limits != NULL ? options->limits : sh_overdue_limits,
        .look_ns = 2 * (uint64_t)look_ms * 1000000u,
    };
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fresh->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&fresh->watching, NULL);
    pthread_mutex_init(&fresh->saving, NULL);
    pthread_mutex_init(&fresh->lock, NULL);
    const int error = options->save == NULL ? 0 : sh_thread_start(&fresh->saver, save, fresh);
    fresh->has_saver = options->save != NULL && error == 0;
    sh_status status = error != 0 ? sh_fail_errno(error, "starting a thread") : SH_OK;
    if (status == SH_OK)
        status = sh_watchdog_start(
            &fresh->watchdog, &(sh_watchdog_options){options->stop, look_ms, look, end, fresh});
    if (status != SH_OK) {
        sh_hang_guard_stop(fresh);
        return status;
    }
    *guard = fresh;
    return SH_OK;
}

void sh_hang_guard_stop(sh_hang_guard *guard)
{
    if (guard == NULL)
        return;
    pthread_mutex_lock(&guard->lock);
    guard->ending = true;
    if (guard->state == IDLE)
        guard->state = OVER;
    pthread_cond_broadcast(&guard->changed);
    pthread_mutex_unlock(&guard->lock);
    sh_watchdog_stop(guard->watchdog);
    if (guard->has_saver)
        pthread_join(guard->saver, NULL);
    pthread_cond_destroy(&guard->changed);
    pthread_mutex_destroy(&guard->watching);
    pthread_mutex_destroy(&guard->saving);
    pthread_mutex_destroy(&guard->lock);
    free(guard);
}
