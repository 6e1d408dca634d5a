/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/monitor.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/thread.h"

struct sh_monitor {
    sh_sampler *sampler; /* the thread's while it runs */
    sh_monitor_sink *sink;
    void *context;
    uint64_t period_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping; /* guarded by lock */
};

static void *monitor_main(void *argument)
{
    sh_monitor *monitor = argument;
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    for (bool stopping = false;;) {
        sh_sample sample;
        sh_sampler_take(monitor->sampler, &sample);
        monitor->sink(monitor->context, &sample);
        if (stopping)
            return NULL;
        /* Waits for the next multiple of the period. */
        const uint64_t passed = sh_clock_now_ns(sh_clock_system()) - start_ns;
        const uint64_t due_ns = start_ns + (passed / monitor->period_ns + 1) * monitor->period_ns;
        const struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000u),
                                     .tv_nsec = (long)(due_ns % 1000000000u)};
        pthread_mutex_lock(&monitor->lock);
        while (!monitor->stopping &&
               pthread_cond_timedwait(&monitor->changed, &monitor->lock, &due) == 0)
            ;
        stopping = monitor->stopping;
        pthread_mutex_unlock(&monitor->lock);
    }
}

static void monitor_free(sh_monitor *monitor)
{
    sh_sampler_close(monitor->sampler);
    pthread_cond_destroy(&monitor->changed);
    pthread_mutex_destroy(&monitor->lock);
    free(monitor);
}

sh_status sh_monitor_start(sh_monitor **monitor, const sh_monitor_options *options)
{
    const uint32_t period_ms = options->period_ms == 0 ? SH_MONITOR_PERIOD_MS : options->period_ms;
    sh_sampler *sampler;
    SH_TRY(sh_sampler_open(&sampler, &options->sampler));
    sh_monitor *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        sh_sampler_close(sampler);
        return sh_fail_memory(sizeof *fresh, "the monitor");
    }
    fresh->sampler = sampler;
    fresh->sink = options->sink;
    fresh->context = options->context;
    fresh->period_ns = (uint64_t)period_ms * 1000000u;
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_condattr_t monotonic; /* as sh_clock_system; CLOCK_REALTIME may jump */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fresh->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    const int error = sh_thread_start(&fresh->thread, monitor_main, fresh);
    if (error != 0) {
        monitor_free(fresh);
        return sh_fail_errno(error, "starting the monitor's thread");
    }
    *monitor = fresh;
    return SH_OK;
}

void sh_monitor_stop(sh_monitor *monitor)
{
    if (monitor == NULL)
        return;
    pthread_mutex_lock(&monitor->lock);
    monitor->stopping = true;
    pthread_cond_signal(&monitor->changed);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    monitor_free(monitor);
}
