/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines are cut to the view, so the most useful columns are on the left:
 *
 *     lenet-digits-20261122-160000  running  lenet on digits
 *     step 120/938  epoch 1/2  [=====>----]  0:42  ETA 4:12
 *     loss 0.3124  accuracy 91.2 %  val accuracy -  2,345 samples/s
 *
 *     device   share  samples/s  time                   CPU  throttled ...
 *     0 pi1   75.0 %      1,759  ##############.~~~+  350 %  no        ...
 */
#include "cli/run_view.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/table.h"
#include "cli/console.h"

#define BAR_CELLS 20
#define BAR_CELLS_NARROW 10
#define WIDE 100 /* columns */
#define NEWS 8
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define COLOUR_ON "\033[36m"
#define COLOUR_OFF "\033[0m"

static void print_head(const sh_run_snapshot *s, FILE *out)
{
    const sh_run_about *about = &s->about;
    sh_quantity a, b, c, d;
    char name[256], model[SH_MODEL_BYTES], data[SH_DATA_BYTES], reason[SH_RUN_BYTES],
        bar[BAR_CELLS + 1];
    if (about->state == SH_STATE_RUNNING && about->steps == 0) {
        fprintf(out, "%s  running  waiting for the first step\n",
                sh_utf8_clean(name, sizeof name, about->name));
        return;
    }
    const double done = about->steps > 0 ? (double)about->step / (double)about->steps : 0;
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = i < (int)(done * BAR_CELLS) ? '=' : i == (int)(done * BAR_CELLS) ? '>' : '-';
    bar[BAR_CELLS] = '\0';
    fprintf(out, "%s  %s%s%s  %s on %s\n", sh_utf8_clean(name, sizeof name, about->name),
            sh_run_state_text(about->state), about->reason[0] != '\0' ? ": " : "",
            sh_utf8_clean(reason, sizeof reason, about->reason),
            sh_utf8_clean(model, sizeof model, about->model),
            sh_utf8_clean(data, sizeof data, about->data));
    fprintf(out, "step %s/%s  epoch %u/%u  [%s]  %s  ETA %s\n", sh_quantity_whole(&a, about->step),
            sh_quantity_whole(&b, about->steps), about->epoch, about->epochs, bar,
            sh_quantity_duration(&c, about->seconds), sh_quantity_duration(&d, s->eta_seconds));
    fprintf(out, "loss %s  accuracy %s  val accuracy %s  %s samples/s\n",
            sh_quantity_loss(&a, s->loss), sh_quantity_percent(&b, s->accuracy, 1),
            sh_quantity_percent(&c, about->val_accuracy, 2),
            sh_quantity_rate(&d, s->samples_per_second));
}

static void draw_parts(char bar[BAR_CELLS + 1], int cells, const sh_run_device *device)
{
    const struct {
        char mark;
        double part;
    } parts[] = {{'#', device->compute},
                 {'.', device->lanes},
                 {'-', device->wait},
                 {'~', device->network},
                 {'+', device->optimizer}};
    double sum = 0;
    int used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sum += parts[i].part > 0 ? parts[i].part : 0; /* also NaN */
        while (used < cells && used < (int)lround(sum * cells))
            bar[used++] = parts[i].mark;
    }
    bar[used] = '\0';
    if (used == 0)
        snprintf(bar, BAR_CELLS + 1, "-");
}

/* What slows the device down. */
static void add_trouble(sh_table *table, const sh_run_device *device)
{
    if (device->is_gone)
        sh_table_add(table, "gone");
    else if (device->throttled > 0)
        sh_table_add(table, "heat or voltage");
    else if (device->held_back >= 0.005)
        sh_table_format(table, "quota %.0f %%", 100 * device->held_back);
    else
        sh_table_add(table, isnan(device->throttled) && isnan(device->held_back) ? "-" : "no");
}

/* Before the training begins, nobody has a share. */
static bool is_dealt(const sh_run_snapshot *s)
{
    bool dealt = false;
    for (size_t i = 0; i < s->device_count; i++)
        dealt = dealt || !isnan(s->devices[i].share);
    return dealt;
}

static bool print_devices(const sh_run_snapshot *s, FILE *out, unsigned width)
{
    static const char *const heads[] = {"device",   "share",     "samples/s", "time",
                                        "CPU",      "throttled", "memory MB", "in MB/s",
                                        "out MB/s", "Celsius"};
    const int cells = width > 0 && width < WIDE ? BAR_CELLS_NARROW : BAR_CELLS;
    const bool dealt = is_dealt(s);
    if (s->device_count == 0)
        return true;
    sh_table *table = sh_table_new("<>><><>>>>", heads);
    for (size_t i = 0; i < s->device_count; i++) {
        const sh_run_device *device = &s->devices[i];
        sh_quantity figure;
        char bar[BAR_CELLS + 1];
        sh_table_format(table, "%u %.16s", device->device, device->name);
        sh_table_add(table, !device->is_gone && isnan(device->share) && dealt
                                ? "on standby"
                                : sh_quantity_percent(&figure, device->share, 1));
        sh_table_add(table, sh_quantity_rate(&figure, device->samples_per_second));
        draw_parts(bar, cells, device);
        sh_table_add(table, bar);
        sh_table_add(table, sh_quantity_percent(&figure, device->cpu, 0));
        add_trouble(table, device);
        sh_table_number(table, 1e-6 * device->memory_bytes, 1);
        sh_table_number(table, 1e-6 * device->received_bytes_per_second, 2);
        sh_table_number(table, 1e-6 * device->sent_bytes_per_second, 2);
        sh_table_number(table, device->temperature_celsius, 0);
    }
    fputs("\n", out);
    const bool good = sh_table_print(table, out, "");
    fputs("\ntime: # computing  waiting for . own lanes - devices ~ the network  + optimizer\n",
          out);
    return good;
}

static void print_idle(const sh_run_snapshot *s, FILE *out)
{
    uint32_t idle = 0, seated = 0;
    sh_quantity a, b;
    for (size_t i = 0; i < s->device_count; i++) {
        const sh_run_device *device = &s->devices[i];
        if (device->is_gone || isnan(device->share))
            continue;
        seated++;
        if (!(device->share > 0))
            idle++;
    }
    if (idle > 0 && s->about.state == SH_STATE_RUNNING)
        fprintf(out,
                "\n%s of %s without grains: a smaller --grain or a larger --batch-size would use "
                "more (other weights)\n",
                sh_quantity_whole(&a, idle), sh_quantity_count(&b, seated, "device"));
}

static void print_news(const sh_run_snapshot *s, FILE *out)
{
    sh_quantity figure;
    char kind[64], text[512], device[16];
    const size_t first = s->news_count > NEWS ? s->news_count - NEWS : 0;
    for (size_t i = first; i < s->news_count; i++) {
        const sh_run_news *news = &s->news[i];
        const char *space = strchr(sh_quantity_date(&figure, news->at), ' ');
        device[0] = '\0';
        if (news->device >= 0)
            snprintf(device, sizeof device, " %d", (int)news->device);
        fprintf(out, "%s%s  %s%s  %s\n", i == first ? "\n" : "", space == NULL ? "-" : space + 1,
                sh_utf8_clean(kind, sizeof kind, news->kind), device,
                sh_utf8_clean(text, sizeof text, news->text));
    }
}

/* Bytes of a line's first `width` characters. */
static size_t cut(const char *line, size_t bytes, unsigned width)
{
    size_t at = 0;
    for (unsigned characters = 0; at < bytes; at++) {
        if (((unsigned char)line[at] & 0xc0) != 0x80 && characters++ == width && width > 0)
            break;
    }
    return at;
}

bool sh_run_view_print(const sh_run_snapshot *snapshot, FILE *file, const sh_run_view *view)
{
    char *whole = NULL, *shown = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&whole, &bytes);
    if (out == NULL)
        return false;
    print_head(snapshot, out);
    bool good = print_devices(snapshot, out, view->width);
    print_idle(snapshot, out);
    print_news(snapshot, out);
    good = fclose(out) == 0 && good;
    out = good ? open_memstream(&shown, &bytes) : NULL;
    if (out != NULL) {
        fputs(view->redraw ? HOME : "", out);
        const char *line = whole;
        for (unsigned row = 0; *line != '\0' && (view->rows == 0 || row < view->rows); row++) {
            const size_t length = strcspn(line, "\n");
            const bool coloured = view->colour && row == 0;
            fprintf(out, "%s%.*s%s%s\n", coloured ? COLOUR_ON : "",
                    (int)cut(line, length, view->width), line, coloured ? COLOUR_OFF : "",
                    view->redraw ? CLEAR_LINE : "");
            line += length + 1;
        }
        fputs(view->redraw ? CLEAR_BELOW : "", out);
        good = fclose(out) == 0;
    }
    if (out != NULL && good) /* one write, against flicker */
        fwrite(shown, 1, bytes, file);
    free(shown);
    free(whole);
    return out != NULL && good;
}
