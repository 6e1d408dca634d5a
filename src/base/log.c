/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text values may come from outside: a device's name, a path, a message. They are formatted here,
 * one by one, so that none can end its field or its quotes, or begin another line.
 */
#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LINE_BYTES 1024

static struct {
    pthread_mutex_t lock; /* held during sink calls, so that lines never interleave */
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

typedef struct line {
    char text[LINE_BYTES];
    size_t used;
    bool quoted; /* by the format */
} line;

static void put(line *l, const char *bytes, size_t count)
{
    const size_t room = LINE_BYTES - 1 - l->used, fits = count < room ? count : room;
    memcpy(l->text + l->used, bytes, fits);
    l->used += fits;
}

static bool is_word(const char *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (value[i] <= ' ' || value[i] > '~' || value[i] == '"')
            return false;
    return count > 0;
}

static void put_value(line *l, const char *value, size_t count, bool field)
{
    const bool quotes = field && !is_word(value, count);
    if (quotes)
        put(l, "\"", 1);
    for (size_t i = 0; i < count; i++)
        put(l, value[i] == '"' && (quotes || l->quoted) ? "'" : value + i, 1);
    if (quotes)
        put(l, "\"", 1);
}

typedef struct conversion {
    char text[16]; /* "%.3f" */
    int precision; /* -1: none */
    size_t length; /* in the format */
    int longs;     /* 1: "l", 2: "ll", 3: "z" */
    char kind;
} conversion;

/* Events use a precision, lengths l, ll and z, kinds d, u, x, f, g, s and c. */
static conversion read_conversion(const char *format)
{
    conversion c = {.precision = -1};
    size_t at = 1;
    if (format[at] == '.') {
        c.precision = 0;
        for (at++; format[at] >= '0' && format[at] <= '9'; at++)
            c.precision = 10 * c.precision + (format[at] - '0');
    }
    for (; format[at] == 'l' || format[at] == 'z'; at++)
        c.longs += format[at] == 'l' ? 1 : 3;
    c.kind = format[at];
    c.length = at + 1;
    assert(c.kind != '\0' && strchr("duxfgsc%", c.kind) != NULL && c.length < sizeof c.text);
    memcpy(c.text, format, c.length);
    return c;
}

/* read_conversion has checked the format; the compiler cannot. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_number(line *l, const conversion *c, va_list *values)
{
    char text[64];
    int count;
    if (c->kind == 'f' || c->kind == 'g')
        count = snprintf(text, sizeof text, c->text, va_arg(*values, double));
    else if (c->longs == 3)
        count = snprintf(text, sizeof text, c->text, va_arg(*values, size_t));
    else if (c->longs == 2)
        count = snprintf(text, sizeof text, c->text, va_arg(*values, unsigned long long));
    else if (c->longs == 1)
        count = snprintf(text, sizeof text, c->text, va_arg(*values, unsigned long));
    else
        count = snprintf(text, sizeof text, c->text, va_arg(*values, unsigned));
    if (count > 0)
        put(l, text, (size_t)count < sizeof text ? (size_t)count : sizeof text - 1);
}
#pragma GCC diagnostic pop

static void put_fields(line *l, const char *format, va_list *values)
{
    for (const char *at = format; *at != '\0';) {
        if (*at != '%') {
            l->quoted ^= *at == '"';
            put(l, at++, 1);
            continue;
        }
        const conversion c = read_conversion(at);
        const bool field = at > format && at[-1] == '=';
        at += c.length;
        if (c.kind == '%') {
            put(l, "%", 1);
        } else if (c.kind == 's') {
            const char *value = va_arg(*values, const char *);
            const size_t most = c.precision < 0 ? SIZE_MAX : (size_t)c.precision;
            put_value(l, value, value == NULL ? 0 : strnlen(value, most), field);
        } else {
            put_number(l, &c, values);
        }
    }
}

void sh_log(sh_log_level level, const char *event, const char *format, ...)
{
    pthread_mutex_lock(&target.lock);
    bool wanted = target.sink != NULL && level >= target.lowest;
    for (const sh_log_tap *tap = target.taps; tap != NULL; tap = tap->next)
        wanted = wanted || level >= tap->lowest;
    if (wanted && level < SH_LOG_OFF) {
        line l = {.used = 0};
        char clean[LINE_BYTES], day[32];
        const struct timespec now = sh_clock_date();
        struct tm parts;
        gmtime_r(&now.tv_sec, &parts);
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
        const int head = snprintf(l.text, LINE_BYTES, "%s.%03ldZ %s %s ", day,
                                  now.tv_nsec / 1000000, level_names[level], event);
        l.used = head < 0 ? 0 : head < LINE_BYTES ? (size_t)head : LINE_BYTES - 1;
        va_list values;
        va_start(values, format);
        put_fields(&l, format, &values);
        va_end(values);
        l.text[l.used] = '\0';
        sh_utf8_clean(clean, sizeof clean, l.text);
        if (target.sink != NULL && level >= target.lowest)
            target.sink(target.context, level, clean);
        for (const sh_log_tap *tap = target.taps; tap != NULL; tap = tap->next)
            if (level >= tap->lowest)
                tap->sink(tap->context, level, clean);
    }
    pthread_mutex_unlock(&target.lock);
}
