/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step's line fits the terminal: it takes fields from left to right while they fit, and the bar
 * gets the remaining columns if they suffice:
 *
 *     epoch 1/2 [=====>----]  120/938  loss 0.3124  acc 91.2 %  2,345 samples/s  ...
 *
 * While such a line is drawn, each line begins with a carriage return and a clear. Times come from
 * the events.
 */
#include "cli/progress.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "cli/console.h"

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS 5.0
#define BAR_LEAST 9
#define BAR_MOST 32
#define CLEAR "\r\033[K"
#define COLOUR_ON "\033[36m"
#define COLOUR_OFF "\033[0m"

typedef struct sh_line {
    char *out;
    size_t bytes, used;
} sh_line;

static void add(sh_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(sh_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(line->out + line->used, line->bytes - line->used, format, arguments);
    va_end(arguments);
    line->used += (size_t)length;
    if (line->used >= line->bytes)
        line->used = line->bytes - 1;
}

void sh_progress_init(sh_progress *progress, bool quiet)
{
    *progress = (sh_progress){
        .quiet = quiet,
        .terminal = sh_console_is_terminal(STDERR_FILENO),
        .colour = sh_console_has_colour(STDERR_FILENO),
        .width = sh_console_width(STDERR_FILENO),
    };
    if (!progress->terminal)
        progress->next_seconds = LINE_SECONDS;
}

/* Adds a field after two spaces; false if it does not fit in `columns`. */
__attribute__((format(printf, 3, 4))) static bool add_field(sh_line *line, size_t columns,
                                                            const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (line->used + 2 + strlen(text) > columns)
        return false;
    add(line, "  %s", text);
    return true;
}

static void add_epoch(sh_line *line, const sh_event *event)
{
    sh_quantity a, b, c, d, e;
    const bool numbers = event->numbers;
    const char *figure = numbers ? "mae" : "accuracy";
    add(line,
        "epoch %" PRIu32 "/%" PRIu32 "  loss %s  %s %s  val loss %s  val %s %s  %s samples/s\n",
        event->epoch, event->epochs, sh_quantity_loss(&a, event->loss), figure,
        numbers ? sh_quantity_loss(&b, event->mae) : sh_quantity_percent(&b, event->accuracy, 1),
        sh_quantity_loss(&c, event->val_loss), figure,
        numbers ? sh_quantity_loss(&d, event->val_mae)
                : sh_quantity_percent(&d, event->val_accuracy, 2),
        sh_quantity_rate(&e, event->samples_per_second));
}

static void add_step_fields(sh_line *line, const sh_progress *progress, const sh_event *event,
                            size_t columns)
{
    const bool terminal = progress->terminal;
    sh_quantity a, b;
    bool fits =
        add_field(line, columns, "%s%s/%s", terminal ? "" : "step ",
                  sh_quantity_whole(&a, event->step), sh_quantity_whole(&b, event->epoch_steps)) &&
        add_field(line, columns, "loss %s", sh_quantity_loss(&a, event->loss)) &&
        (!event->numbers ? add_field(line, columns, "%s %s", terminal ? "acc" : "accuracy",
                                     sh_quantity_percent(&a, event->accuracy, 1))
                         : add_field(line, columns, "mae %s", sh_quantity_loss(&a, event->mae))) &&
        add_field(line, columns, "%s samples/s", sh_quantity_rate(&a, event->samples_per_second));
    if (fits && event->total_step > progress->first_step &&
        event->total_steps >= event->total_step) {
        const double done = (double)(event->total_step - progress->first_step);
        const double left = (double)(event->total_steps - event->total_step);
        fits = add_field(line, columns, "ETA %s",
                         sh_quantity_duration(&a, event->seconds / done * left));
    }
    if (fits && progress->devices > 0)
        (void)add_field(line, columns, "%s", sh_quantity_count(&a, progress->devices, "device"));
}

static void add_bar(sh_line *line, const sh_progress *progress, const sh_event *event, size_t room)
{
    if (room < BAR_LEAST || event->epoch_steps == 0)
        return;
    const size_t cells = (room < BAR_MOST ? room : BAR_MOST) - 3; /* minus a space and brackets */
    const uint64_t step = event->step < event->epoch_steps ? event->step : event->epoch_steps;
    const size_t full = (size_t)((double)cells * ((double)step / (double)event->epoch_steps));
    add(line, " %s[", progress->colour ? COLOUR_ON : "");
    for (size_t i = 0; i < cells; i++)
        add(line, "%c", i < full ? '=' : i == full ? '>' : '-');
    add(line, "]%s", progress->colour ? COLOUR_OFF : "");
}

static void step_text(sh_progress *progress, sh_line *line, const sh_event *event)
{
    char epoch[48], fields[512] = "";
    if (event->seconds < progress->next_seconds)
        return;
    progress->next_seconds = event->seconds + (progress->terminal ? REDRAW_SECONDS : LINE_SECONDS);
    const int head =
        snprintf(epoch, sizeof epoch, "epoch %" PRIu32 "/%" PRIu32, event->epoch, event->epochs);
    if (!progress->terminal) {
        add(line, "%s", epoch);
        add_step_fields(line, progress, event, line->bytes);
        add(line, "\n");
        return;
    }
    /* Some terminals wrap when the last column is written. */
    const size_t columns = progress->width > 1 ? progress->width - 1 : 1;
    if ((size_t)head > columns)
        return;
    sh_line tail = {fields, sizeof fields, 0};
    add_step_fields(&tail, progress, event, columns - (size_t)head);
    add(line, CLEAR "%s", epoch);
    add_bar(line, progress, event, columns - (size_t)head - tail.used);
    add(line, "%s", fields);
    progress->drawn = true;
}

/* Without a terminal, only the last event is shown. */
static void packing_text(sh_progress *progress, sh_line *line, const sh_event *event)
{
    char head[64];
    sh_quantity a, b;
    const bool ends = event->step >= event->epoch_steps;
    snprintf(head, sizeof head, "reading     %s of %s", sh_quantity_whole(&a, event->step),
             sh_quantity_count(&b, event->epoch_steps, "sample"));
    if (!progress->terminal) {
        if (ends)
            add(line, "%s\n", head);
        return;
    }
    const size_t columns = progress->width > 1 ? progress->width - 1 : 1;
    if (strlen(head) > columns)
        return;
    add(line, CLEAR "%s", head);
    if (ends)
        add(line, "\n");
    else
        add_bar(line, progress, event, columns - strlen(head));
    progress->drawn = !ends;
}

static void named_text(sh_line *line, const char *what, const sh_event *event)
{
    char clean[SH_RUN_BYTES];
    const char *text = event->text != NULL ? event->text : "";
    add(line, "%s%s\n", what, sh_utf8_clean(clean, sizeof clean, text));
}

static void event_text(sh_progress *progress, sh_line *line, const sh_event *event)
{
    sh_quantity a, b;
    char name[SH_NAME_BYTES];
    switch (event->kind) {
    case SH_EVENT_TOKEN:
        return; /* printed on standard output */
    case SH_EVENT_RUN:
        named_text(line, "run         ", event);
        return;
    case SH_EVENT_JOINED:
        add(line, "joined      %s (%s)\n",
            sh_utf8_clean(name, sizeof name, event->text != NULL ? event->text : ""),
            sh_quantity_count(&a, event->devices, "device"));
        return;
    case SH_EVENT_STARTED:
        progress->first_step = event->total_step;
        add(line, "training on %s, %s an epoch", sh_quantity_count(&a, event->devices, "device"),
            sh_quantity_count(&b, event->epoch_steps, "step"));
        if (event->total_step > 0)
            add(line, ", continuing after step %s", sh_quantity_whole(&a, event->total_step));
        add(line, "\n");
        return;
    case SH_EVENT_EPOCH:
        add_epoch(line, event);
        return;
    case SH_EVENT_NOTE:
        named_text(line, "", event);
        return;
    case SH_EVENT_HUNG: /* sh_signals_end reports it */
    case SH_EVENT_PACKING:
    case SH_EVENT_CHECKPOINT: /* the epoch's line suffices */
    case SH_EVENT_STEP:
        return;
    }
}

const char *sh_progress_text(sh_progress *progress, const sh_event *event,
                             char out[SH_PROGRESS_BYTES])
{
    sh_line line = {out, SH_PROGRESS_BYTES, 0};
    out[0] = '\0';
    if (progress->quiet)
        return out;
    if (event->devices > 0)
        progress->devices = event->devices;
    if (event->kind == SH_EVENT_STEP) {
        step_text(progress, &line, event);
        return out;
    }
    if (event->kind == SH_EVENT_PACKING) {
        packing_text(progress, &line, event);
        return out;
    }
    const size_t clear_bytes = progress->drawn ? strlen(CLEAR) : 0;
    add(&line, "%s", progress->drawn ? CLEAR : "");
    event_text(progress, &line, event);
    if (line.used == clear_bytes) {
        out[0] = '\0'; /* keeps the drawn line */
    } else if (progress->drawn) {
        progress->drawn = false;
        progress->next_seconds = 0; /* redraws at the next step */
    }
    return out;
}

void sh_progress_show(sh_progress *progress, const sh_event *event)
{
    char text[SH_PROGRESS_BYTES];
    if (progress->terminal)
        progress->width = sh_console_width(STDERR_FILENO);
    sh_progress_text(progress, event, text);
    if (text[0] != '\0')
        fwrite(text, 1, strlen(text), stderr);
}

void sh_progress_end(sh_progress *progress)
{
    if (progress->drawn)
        fwrite(CLEAR, 1, strlen(CLEAR), stderr);
    progress->drawn = false;
}
