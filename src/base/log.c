/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

#define LINE_BYTES 1024

static struct {
    pthread_mutex_t lock; /* sinks are called under it: lines never interleave */
    sh_log_level lowest;
    sh_log_sink *sink;
    void *context;
    sh_log_tap *taps;
} target = {.lock = PTHREAD_MUTEX_INITIALIZER, .lowest = SH_LOG_OFF};

static const char *const level_names[] = {"DEBUG", "INFO", "WARN", "ERROR"};

void sh_log_to(sh_log_level lowest, sh_log_sink *sink, void *context)
{
    pthread_mutex_lock(&target.lock);
    target.lowest = sink == NULL ? SH_LOG_OFF : lowest;
    target.sink = sink;
    target.context = context;
    pthread_mutex_unlock(&target.lock);
}

void sh_log_tap_add(sh_log_tap *tap)
{
    pthread_mutex_lock(&target.lock);
    assert(!tap->added);
    tap->next = target.taps;
    tap->added = true;
    target.taps = tap;
    pthread_mutex_unlock(&target.lock);
}

void sh_log_tap_remove(sh_log_tap *tap)
{
    pthread_mutex_lock(&target.lock);
    sh_log_tap **place = &target.taps;
    while (*place != NULL && *place != tap)
        place = &(*place)->next;
    if (*place != NULL)
        *place = tap->next;
    tap->next = NULL;
    tap->added = false;
    pthread_mutex_unlock(&target.lock);
}

void sh_log(sh_log_level level, const char *event, const char *format, ...)
{
    pthread_mutex_lock(&target.lock);
    bool wanted = target.sink != NULL && level >= target.lowest;
    for (const sh_log_tap *tap = target.taps; tap != NULL; tap = tap->next)
        wanted = wanted || level >= tap->lowest;
    if (wanted && level < SH_LOG_OFF) {
        char line[LINE_BYTES], day[32];
        const struct timespec now = sh_clock_date();
        struct tm parts;
        gmtime_r(&now.tv_sec, &parts);
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
        const int head = snprintf(line, LINE_BYTES, "%s.%03ldZ %s %s ", day, now.tv_nsec / 1000000,
                                  level_names[level], event);
        const size_t used = head < 0 ? 0 : head < LINE_BYTES ? (size_t)head : LINE_BYTES - 1;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(line + used, LINE_BYTES - used, format, arguments);
        va_end(arguments);
        /* Values may come from outside: none may begin a line of its own. */
        for (char *c = line; *c != '\0'; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f)
                *c = '?';
        if (target.sink != NULL && level >= target.lowest)
            target.sink(target.context, level, line);
        for (const sh_log_tap *tap = target.taps; tap != NULL; tap = tap->next)
            if (level >= tap->lowest)
                tap->sink(tap->context, level, line);
    }
    pthread_mutex_unlock(&target.lock);
}
