/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events worth a line: a stable id and key=value pairs. On changes of state only, never per step.
 *
 *     sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
 *
 * Threads: any. The program sets the level and the sink once, before threads start; taps may be
 * added and removed at any time.
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

/* Receives one line without its newline: "2026-11-20T10:12:03.123Z WARN net.refused peer=...". */
typedef void sh_log_sink(void *context, sh_log_level level, const char *line);

/* Sets the lowest level passed on, and the sink; a NULL sink drops all lines (the default). */
void sh_log_to(sh_log_level lowest, sh_log_sink *sink, void *context);

/* A sink besides the program's, such as the folder of a run. `sink` and `context` are borrowed
 * until the tap is removed. */
typedef struct sh_log_tap sh_log_tap;
struct sh_log_tap {
    sh_log_level lowest;
    sh_log_sink *sink;
    void *context;
    sh_log_tap *next; /* internal; NULL while the tap is not in use */
    bool added;       /* internal */
};

/* Adds a tap. It is borrowed, and must not change, until it is removed. */
void sh_log_tap_add(sh_log_tap *tap);

/* After the return, the tap's sink is no longer called. A tap that was not added is fine. */
void sh_log_tap_remove(sh_log_tap *tap);

/*
 * Logs one event as one line, whatever the values hold: control characters, including those that
 * change the direction of text, become '?'; a text that is a field's value ("name=%s") is quoted
 * unless it is a single word, and quotes inside it become '. So no value can look like another
 * field. Conversions: %d, %u, %x with l, ll or z, %f, %g, %s, %c, a precision.
 */
void sh_log(sh_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
