/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events worth a line: a stable id and key=value pairs. On changes of state only, never per step.
 *
 *     sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
 *
 * Threads: any. The program sets level and sink once, before threads start; taps may come and go at
 * any time.
 */
#ifndef SHOAL_BASE_LOG_H
#define SHOAL_BASE_LOG_H

#include <stdbool.h>

typedef enum sh_log_level {
    SH_LOG_DEBUG,
    SH_LOG_INFO,
    SH_LOG_WARN,
    SH_LOG_ERROR,
    SH_LOG_OFF,
} sh_log_level;

/* A line without its newline: "2026-11-20T10:12:03.123Z WARN net.refused peer=...". */
typedef void sh_log_sink(void *context, sh_log_level level, const char *line);

/* A NULL sink drops all lines (the default). */
void sh_log_to(sh_log_level lowest, sh_log_sink *sink, void *context);

/* A sink besides the program's. It and `context` are borrowed until the tap is removed. */
typedef struct sh_log_tap sh_log_tap;
struct sh_log_tap {
    sh_log_level lowest;
    sh_log_sink *sink;
    void *context;
    sh_log_tap *next; /* internal; NULL while not in use */
    bool added;       /* internal */
};

/* The tap is borrowed, and must not change, until it is removed. */
void sh_log_tap_add(sh_log_tap *tap);

/* Its sink is no longer called. A tap that was not added is fine. */
void sh_log_tap_remove(sh_log_tap *tap);

/*
 * Logs one event as one line, whatever the values hold: control characters, including those that
 * change the direction of text, become '?'; a text that is a field's value ("name=%s") is quoted
 * unless it is a single word, and quotes inside it become '. Conversions: %d, %u, %x with l, ll or
 * z, %f, %g, %s, %c, a precision.
 */
void sh_log(sh_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
