/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define LINE_BYTES 1024

static struct {
    pthread_mutex_t lock; /* the sink is called under it: lines never interleave */
    sh_log_level lowest;
    sh_log_sink *sink;
    void *context;
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

static size_t print_head(char line[LINE_BYTES], sh_log_level level, const char *event)
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    char day[32];
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    const int used = snprintf(line, LINE_BYTES, "%s.%03ldZ %s %s ", day, now.tv_nsec / 1000000,
                              level_names[level], event);
    return used < 0 ? 0 : (size_t)used < LINE_BYTES ? (size_t)used : LINE_BYTES - 1;
}

void sh_log(sh_log_level level, const char *event, const char *format, ...)
{
    pthread_mutex_lock(&target.lock);
    if (target.sink != NULL && level >= target.lowest && level < SH_LOG_OFF) {
        char line[LINE_BYTES];
        const size_t used = print_head(line, level, event);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(line + used, LINE_BYTES - used, format, arguments);
        va_end(arguments);
        target.sink(target.context, level, line);
    }
    pthread_mutex_unlock(&target.lock);
}
