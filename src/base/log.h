/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events worth a line: a stable id and key=value pairs. On changes of state only, never per step.
 *
 *     sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
 *
 * Threads: any. The level and the sink are the program's, set once before threads start; taps come
 * and go at any time.
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

/* Takes one line without its newline: "2026-11-20T10:12:03.123Z WARN net.refused peer=...". */
typedef void sh_log_sink(void *context, sh_log_level level, const char *line);

/* Sets the lowest level that is passed on and where to; a NULL sink drops all (the default). */
void sh_log_to(sh_log_level lowest, sh_log_sink *sink, void *context);

/*
 * Another place that lines go to besides the program's sink, such as the folder of a run. `sink`
 * and `context` are borrowed until the tap is removed.
 */
typedef struct sh_log_tap sh_log_tap;
struct sh_log_tap {
    sh_log_level lowest;
    sh_log_sink *sink;
    void *context;
    sh_log_tap *next; /* the log's own; NULL while the tap is not in use */
    bool added;       /* the same */
};

/* From now on the tap gets lines. Borrowed until it is removed, and not to be changed before. */
void sh_log_tap_add(sh_log_tap *tap);

/* When it returns, the tap's sink is not called any more. One that was not added is fine. */
void sh_log_tap_remove(sh_log_tap *tap);

/*
 * One event is one line, whatever the values hold: control characters, also those that turn the
 * direction of text, become '?'; a text that is a field's value ("name=%s") is put in quotes where
 * it is no single word, and quotes in it become '. So a value cannot look like another field.
 * Conversions: %d, %u, %x with l, ll or z, %f, %g, %s, %c, a precision.
 */
void sh_log(sh_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
