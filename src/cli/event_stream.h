/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of --events: the events of a training as lines of JSON, for programs.
 *
 *     sh_event_stream stream;
 *     if (sh_event_stream_open(&stream, path) != SH_OK)
 *         return sh_console_fail("%s", sh_message());
 *     sh_event_stream_write(&stream, event);           // in the observer
 *     sh_event_stream_close(&stream);
 *
 * Each line is appended in one write:
 *
 *     {"event": "step", "at": 8123.406771, "devices": 3, "epoch": 1, "step": 12, ...}
 *
 * `event` is packing, run, joined, started, step, epoch, checkpoint or note; the join token is a
 * secret and is left out. `at` is in seconds of the system's monotonic clock, so lines of several
 * devices on one machine compare. The other keys are the fields of sh_event that are not zero,
 * except those of lr_find (docs/reference/json.md).
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLI_EVENT_STREAM_H
#define SHOAL_CLI_EVENT_STREAM_H

#include "shoal/train.h"

typedef struct sh_event_stream {
    int descriptor; /* -1: writes nothing */
} sh_event_stream;

/* Appends; creates the file if missing. NULL: a stream that writes nothing. */
sh_status sh_event_stream_open(sh_event_stream *stream, const char *path) SHOAL_CHECKED;

/* The line of an event at `at_seconds`, without a newline. Owned: free(). NULL: no line, or out of
 * memory. */
char *sh_event_stream_line(const sh_event *event, double at_seconds);

/* After a failed write, writes nothing more: a full disk must not end a training. */
void sh_event_stream_write(sh_event_stream *stream, const sh_event *event);

void sh_event_stream_close(sh_event_stream *stream);

#endif
