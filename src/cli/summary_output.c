/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/summary_output.h"

#include <math.h>
#include <string.h>

#include "base/quantity.h"
#include "base/table.h"
#include "base/utf8.h"
#include "cli/console.h"
#include "cli/figures_output.h"
#include "cli/json_file.h"

static const char *end_text(sh_run_end end)
{
    static const char *const texts[] = {
#define RUN_TEXT(name, text) [SH_RUN_##name] = (text),
        SH_RUN_MAP(RUN_TEXT)
#undef RUN_TEXT
    };
    return texts[end];
}

static const char *wire_megabytes(sh_quantity *figure, uint64_t bytes)
{
    return bytes == SH_BYTES_UNKNOWN ? "-" : sh_quantity_megabytes(figure, bytes);
}

static const char *best_text(sh_quantity *figure, const sh_summary *summary)
{
    return strcmp(summary->monitor, "val_accuracy") == 0
               ? sh_quantity_percent(figure, summary->best_value, 2)
               : sh_quantity_loss(figure, summary->best_value);
}

static void print_figures(const json_t *figures, FILE *file)
{
    const char *between = "";
    fputs("its worth   ", file);
    for (size_t i = 0; i < SH_FIGURE_COUNT; i++) {
        sh_quantity a;
        const json_t *value = json_object_get(figures, sh_figure_names[i].key);
        if (!json_is_number(value))
            continue;
        const double number = json_number_value(value);
        if (sh_figure_names[i].percent)
            fprintf(file, "%s%s %s", between, sh_figure_names[i].title,
                    sh_quantity_percent(&a, number, 2));
        else
            fprintf(file, "%s%s %.5g", between, sh_figure_names[i].title, number);
        between = ", ";
    }
    fputc('\n', file);
}

/* Quotes the path for a shell. */
static void print_word(const char *path, FILE *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%=";
    if (path[strspn(path, plain)] == '\0') {
        fputs(path, file);
        return;
    }
    fputc('\'', file);
    for (; *path != '\0'; path++)
        if (*path == '\'')
            fputs("'\\''", file);
        else
            fputc(*path, file);
    fputc('\'', file);
}

static void print_use(const sh_summary *summary, FILE *file)
{
    char clean[SH_RUN_BYTES];
    sh_quantity a;
    const bool best = summary->best_file[0] != '\0';
    const char *path = best ? summary->best_file : summary->last_file;
    if (path[0] == '\0')
        return;
    fprintf(file, "%s %s", best ? "best model " : "last model ",
            sh_utf8_clean(clean, sizeof clean, path));
    if (best)
        fprintf(file, " (epoch %s)", sh_quantity_whole(&a, summary->best_epoch));
    fputs("\nmeasure it  shoal eval ", file);
    print_word(sh_utf8_clean(clean, sizeof clean, summary->run), file);
    fputc('\n', file);
}

static void print_trained(const sh_summary *summary, FILE *file)
{
    sh_quantity a, b;
    if (summary->epoch_steps > 0 && summary->steps % summary->epoch_steps != 0)
        fprintf(file, "trained     %.2f epochs",
                (double)summary->steps / (double)summary->epoch_steps);
    else
        fprintf(file, "trained     %s", sh_quantity_count(&a, summary->epochs, "epoch"));
    fprintf(file, ", %s", sh_quantity_count(&a, summary->steps, "step"));
    if (summary->first_steps > 0)
        fprintf(file, " (%s since it was resumed)",
                sh_quantity_whole(&a, summary->steps - summary->first_steps));
    fprintf(file, ", %s in %s", sh_quantity_count(&a, summary->samples, "sample"),
            sh_quantity_duration(&b, summary->train_seconds));
    fprintf(file, " (%s samples/s)\n", sh_quantity_rate(&a, summary->samples_per_second));
}

void sh_summary_output_print(const sh_summary *summary, sh_run_end end, FILE *file)
{
    static const char *const heads[] = {"device",  "grains",  "samples",    "CPU s",
                                        "peak MB", "sent MB", "received MB"};
    sh_quantity a, b;
    char clean[SH_RUN_BYTES];
    fprintf(file, "status      %s%s\n", end_text(end),
            summary->stopped_early ? ", stopped early" : "");
    fprintf(file, "model       %s, %s\n", sh_utf8_clean(clean, sizeof clean, summary->model),
            sh_quantity_count(&a, summary->parameters, "parameter"));
    fprintf(file, "data        %s\n", sh_utf8_clean(clean, sizeof clean, summary->data));
    print_trained(summary, file);
    fprintf(file, "training    loss %s\n", sh_quantity_loss(&a, summary->train_loss));
    fprintf(file, "validation  loss %s, %s %s\n", sh_quantity_loss(&a, summary->val_loss),
            summary->numbers ? "mean absolute error" : "accuracy",
            summary->numbers ? sh_quantity_loss(&b, summary->val_mae)
                             : sh_quantity_percent(&b, summary->val_accuracy, 2));
    if (summary->best_epoch > 0)
        fprintf(file, "best        epoch %s, %s %s\n", sh_quantity_whole(&a, summary->best_epoch),
                summary->monitor, best_text(&b, summary));
    json_t *figures = summary->metrics == NULL ? NULL : json_loads(summary->metrics, 0, NULL);
    if (figures != NULL)
        print_figures(figures, file);
    json_decref(figures);
    fprintf(file, "weights     %s\n", sh_utf8_clean(clean, sizeof clean, summary->weights_hash));
    fprintf(file, "run         %s\n", sh_utf8_clean(clean, sizeof clean, summary->run));
    fprintf(file, "memory      %s MB at most on a device\n",
            sh_quantity_megabytes(&a, summary->peak_rss_bytes));
    if (summary->redone_steps > 0)
        fprintf(file, "redone      %s, because a gradient exceeded its exponent\n",
                sh_quantity_count(&a, summary->redone_steps, "step"));
    if (summary->views > 1)
        fprintf(file, "views       %s\n", sh_quantity_whole(&a, summary->views));

    print_use(summary, file);

    sh_table *table = sh_table_new("<>>>>>>", heads);
    for (size_t i = 0; i < summary->device_count; i++) {
        const sh_device_report *device = &summary->devices[i];
        sh_table_add(table, device->name);
        sh_table_add(table, sh_quantity_whole(&a, device->grains));
        sh_table_add(table, sh_quantity_whole(&a, device->samples));
        sh_table_format(table, "%.1f", device->cpu_seconds);
        sh_table_add(table, sh_quantity_megabytes(&a, device->peak_rss_bytes));
        sh_table_add(table, wire_megabytes(&a, device->bytes_sent));
        sh_table_add(table, wire_megabytes(&a, device->bytes_received));
    }
    fputc('\n', file);
    sh_table_print(table, file, "");
}

static json_t *whole(uint64_t number)
{
    return json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number);
}

static json_t *wire_bytes(uint64_t bytes)
{
    return bytes == SH_BYTES_UNKNOWN ? json_null() : whole(bytes);
}

static json_t *path_json(const char *path)
{
    return path[0] != '\0' ? sh_json_text(path) : json_null();
}

/* Null: no validation. */
static json_t *best_json(const sh_summary *summary)
{
    if (summary->best_epoch == 0)
        return json_null();
    return json_pack("{s:o, s:o, s:s, s:o, s:o}", "epoch", whole(summary->best_epoch), "step",
                     whole(summary->best_steps), "monitor", summary->monitor, "value",
                     sh_json_number(summary->best_value), "file", path_json(summary->best_file));
}

/* The main figures; null: not measured. */
static json_t *figures_json(const sh_summary *summary)
{
    json_t *all = summary->metrics == NULL ? NULL : json_loads(summary->metrics, 0, NULL);
    if (all == NULL)
        return json_null();
    json_t *json = json_object();
    for (size_t i = 0; i < SH_FIGURE_COUNT; i++) {
        json_t *value = json_object_get(all, sh_figure_names[i].key);
        sh_json_set(&json, sh_figure_names[i].key,
                    value == NULL ? json_null() : json_incref(value));
    }
    json_decref(all);
    return json;
}

json_t *sh_summary_output_json(const sh_summary *summary, sh_run_end end)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < summary->device_count; i++) {
        const sh_device_report *device = &summary->devices[i];
        json_t *entry =
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", sh_json_text(device->name),
                      "grains", whole(device->grains), "samples", whole(device->samples),
                      "cpu_seconds", sh_json_number(device->cpu_seconds), "peak_rss_bytes",
                      whole(device->peak_rss_bytes), "bytes_sent", wire_bytes(device->bytes_sent),
                      "bytes_received", wire_bytes(device->bytes_received));
        sh_json_append(&devices, entry);
    }
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:s, s:o, s:o, s:o, s:b, s:o}",
        "model", sh_json_text(summary->model), "data", sh_json_text(summary->data), "parameters",
        whole(summary->parameters), "epochs", whole(summary->epochs), "steps",
        whole(summary->steps), "samples", whole(summary->samples), "train_seconds",
        sh_json_number(summary->train_seconds), "samples_per_second",
        sh_json_number(summary->samples_per_second), "train_loss",
        sh_json_number(summary->train_loss), "val_loss", sh_json_number(summary->val_loss),
        "val_accuracy", sh_json_number(summary->val_accuracy), "val_mae",
        sh_json_number(summary->numbers ? summary->val_mae : NAN), "weights_hash",
        sh_json_text(summary->weights_hash), "peak_rss_bytes", whole(summary->peak_rss_bytes),
        "planned_bytes", whole(summary->planned_bytes), "devices", devices, "redone_steps",
        whole(summary->redone_steps), "views", whole(summary->views), "run",
        sh_json_text(summary->run), "status", end_text(end), "wire", whole(summary->wire), "best",
        best_json(summary), "last_file", path_json(summary->last_file), "stopped_early",
        summary->stopped_early, "metrics", figures_json(summary));
}
