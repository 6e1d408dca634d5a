/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/event_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/json_file.h"

sh_status sh_event_stream_open(sh_event_stream *stream, const char *path)
{
    int descriptor = -1;
    if (path != NULL) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (descriptor < 0)
            return sh_fail(SH_IO, "--events %.200s: %s; choose another file for --events", path,
                           strerror(errno));
    }
    stream->descriptor = descriptor;
    return SH_OK;
}

static const char *const names[] = {
    [SH_EVENT_TOKEN] = NULL, /* secret */
    [SH_EVENT_HUNG] = NULL,  /* the file may be what hangs */
    [SH_EVENT_RUN] = "run",   [SH_EVENT_JOINED] = "joined",   [SH_EVENT_STARTED] = "started",
    [SH_EVENT_STEP] = "step", [SH_EVENT_EPOCH] = "epoch",     [SH_EVENT_CHECKPOINT] = "checkpoint",
    [SH_EVENT_NOTE] = "note", [SH_EVENT_PACKING] = "packing",
};

static void set_count(json_t *line, const char *name, uint64_t count)
{
    if (count != 0)
        json_object_set_new(line, name, json_integer((json_int_t)count));
}

static void set_number(json_t *line, const char *name, double number)
{
    if (number != 0)
        json_object_set_new(line, name, sh_json_number(number));
}

char *sh_event_stream_line(const sh_event *event, double at_seconds)
{
    const char *name = names[event->kind];
    json_t *line = name == NULL ? NULL : json_object();
    if (line == NULL)
        return NULL;
    json_object_set_new(line, "event", json_string(name));
    json_object_set_new(line, "at", sh_json_number(at_seconds));
    if (event->text != NULL)
        json_object_set_new(line, "text", sh_json_text(event->text));
    set_count(line, "devices", event->devices);
    set_count(line, "epoch", event->epoch);
    set_count(line, "epochs", event->epochs);
    set_count(line, "step", event->step);
    set_count(line, "epoch_steps", event->epoch_steps);
    set_count(line, "total_step", event->total_step);
    set_count(line, "total_steps", event->total_steps);
    set_count(line, "samples", event->samples);
    set_number(line, "seconds", event->seconds);
    set_number(line, "samples_per_second", event->samples_per_second);
    set_number(line, "loss", event->loss);
    set_number(line, "accuracy", event->accuracy);
    set_number(line, "val_loss", event->val_loss);
    set_number(line, "val_accuracy", event->val_accuracy);
    if (event->numbers) {
        set_number(line, "mae", event->mae);
        set_number(line, "val_mae", event->val_mae);
    }
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(line);
    return text;
}

void sh_event_stream_write(sh_event_stream *stream, const sh_event *event)
{
    if (stream->descriptor < 0)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char *text = sh_event_stream_line(event, (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    if (text == NULL)
        return;
    const size_t bytes = strlen(text);
    char end[] = "\n";
    const struct iovec parts[] = {{text, bytes}, {end, 1}};
    if (writev(stream->descriptor, parts, 2) != (ssize_t)bytes + 1)
        sh_event_stream_close(stream);
    free(text);
}

void sh_event_stream_close(sh_event_stream *stream)
{
    if (stream->descriptor >= 0)
        close(stream->descriptor);
    stream->descriptor = -1;
}
