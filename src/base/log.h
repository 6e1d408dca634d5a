/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events worth a line: a stable id and key=value pairs. On changes of state only, never per step.
 *
 *     sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
 *
 * Threads: any. The level and the sink are the program's, set once before threads start.
 */
#ifndef SHOAL_BASE_LOG_H
#define SHOAL_BASE_LOG_H

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

void sh_log(sh_log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
