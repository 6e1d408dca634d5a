/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_json.h"

#include <math.h>

static void text(FILE *file, const char *name, const char *value)
{
    fprintf(file, "\"%s\":", name);
    sh_escape(file, SH_REPORT_json, value);
    fputc(',', file);
}

static void number(FILE *file, double value, const char *behind)
{
    if (isfinite(value))
        fprintf(file, "%.*g%s", fabs(value) < 1e5 ? 5 : 10, value, behind);
    else
        fprintf(file, "null%s", behind);
}

static void field(FILE *file, const char *name, double value)
{
    fprintf(file, "\"%s\":", name);
    number(file, value, ",");
}

/* Every `stride`th double from `values` on. */
static void series(FILE *file, const char *name, const double *values, size_t stride, size_t count)
{
    fprintf(file, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++)
        number(file, values[i * stride], i + 1 < count ? "," : "");
    fputc(']', file);
}

/* A member of an array of structs as a series. */
#define COLUMN(file, items, count, member, behind)                                                 \
    do {                                                                                           \
        series(file, #member, (count) > 0 ? &(items)[0].member : NULL,                             \
               sizeof *(items) / sizeof(double), count);                                           \
        fputs(behind, file);                                                                       \
    } while (0)

static void write_points(FILE *file, const sh_run_digest *digest)
{
    const sh_digest_point *points = digest->points;
    const sh_digest_epoch *epochs = digest->epochs;
    const size_t count = digest->point_count, epoch_count = digest->epoch_count;
    fputs("\"points\":{", file);
    COLUMN(file, points, count, step, ",");
    COLUMN(file, points, count, seconds, ",");
    COLUMN(file, points, count, loss, ",");
    COLUMN(file, points, count, loss_least, ",");
    COLUMN(file, points, count, loss_most, ",");
    COLUMN(file, points, count, accuracy, ",");
    COLUMN(file, points, count, samples_per_second, "},\n\"epochs\":{");
    COLUMN(file, epochs, epoch_count, epoch, ",");
    COLUMN(file, epochs, epoch_count, step, ",");
    COLUMN(file, epochs, epoch_count, seconds, ",");
    COLUMN(file, epochs, epoch_count, loss, ",");
    COLUMN(file, epochs, epoch_count, accuracy, ",");
    COLUMN(file, epochs, epoch_count, val_loss, ",");
    COLUMN(file, epochs, epoch_count, val_accuracy, "},\n");
}

static void write_figures(FILE *file, const sh_run_digest *digest, const sh_digest_device *device)
{
    fputs("\"figures\":{", file);
    for (int i = 0; i < SH_FIGURE_COUNT; i++) {
        const sh_digest_figure *figure = &device->figures[i];
        fprintf(file, "%s\"%s\":{", i == 0 ? "" : ",", sh_figure_name((sh_figure)i));
        field(file, "total", figure->total);
        field(file, "least", figure->least);
        field(file, "most", figure->most);
        fputs("\"mean\":", file);
        number(file, figure->mean, "}");
    }
    fputs("},\n\"series\":{", file);
    const char *comma = "";
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        if (device->figures[i].series != NULL) {
            fputs(comma, file);
            series(file, sh_figure_name((sh_figure)i), device->figures[i].series, 1,
                   digest->part_count);
            comma = ",\n";
        }
    fputs("}", file);
}

static void write_device(FILE *file, const sh_run_digest *digest, const sh_digest_device *device)
{
    fputs("{", file);
    text(file, "name", device->name);
    field(file, "device", device->device);
    field(file, "lanes", device->lanes);
    field(file, "cores", device->cores > 0 ? (double)device->cores : NAN);
    field(file, "steps", (double)device->steps);
    field(file, "grains", (double)device->grains);
    field(file, "samples", (double)device->samples);
    field(file, "grain_seconds", device->grain_seconds);
    field(file, "step_seconds", device->wall);
    fputs("\"split\":{", file);
    for (int i = 0; i < SH_STEP_SPLIT_COUNT; i++) {
        fprintf(file, "%s\"%s\":{\"mean\":", i == 0 ? "" : ",\n", sh_step_split_name(i));
        number(file, device->split[i], ",");
        series(file, "series", device->series[i], 1, digest->part_count);
        fputs("}", file);
    }
    fputs("},\n", file);
    write_figures(file, digest, device);
    fputs("}", file);
}

static void write_verdict(FILE *file, const sh_verdict *verdict)
{
    fputs("\"verdict\":{", file);
    text(file, "text", verdict->text);
    fputs("\"findings\":[", file);
    for (size_t i = 0; i < verdict->finding_count; i++) {
        const sh_finding *finding = &verdict->findings[i];
        fputs(i == 0 ? "{" : ",{", file);
        text(file, "cause", sh_cause_name(finding->cause));
        text(file, "text", finding->text);
        field(file, "index", finding->device < 0 ? NAN : (double)finding->device);
        fputs("\"cost\":", file);
        number(file, finding->cost, "}");
    }
    fputs("]},\n", file);
}

static void write_views(FILE *file, const sh_run_digest *digest)
{
    fputs("\"views\":[", file);
    for (size_t i = 0; i < digest->view_count; i++) {
        const sh_digest_view *view = &digest->views[i];
        fputs(i == 0 ? "{" : ",{", file);
        text(file, "reason", view->reason);
        field(file, "view", view->view);
        field(file, "step", view->step);
        field(file, "seconds", view->seconds);
        field(file, "grains", (double)view->grains);
        fprintf(file, "\"devices\":%u}", view->devices);
    }
    fputs("],\n", file);
}

static void write_run(FILE *file, const sh_subject *subject)
{
    const sh_run_digest *digest = subject->digest;
    fputs("{", file);
    text(file, "name", digest->name);
    text(file, "model", digest->model);
    text(file, "data", digest->data);
    text(file, "status", digest->status);
    text(file, "version", digest->version);
    text(file, "job", digest->job);
    text(file, "weights_hash", digest->weights_hash);
    field(file, "parameters", (double)digest->parameters);
    field(file, "sessions", digest->sessions);
    field(file, "steps", (double)digest->steps);
    field(file, "steps_planned", (double)digest->steps_planned);
    field(file, "samples", (double)digest->samples);
    field(file, "redone", (double)digest->redone);
    field(file, "seconds", digest->seconds);
    field(file, "samples_per_second", digest->samples_per_second);
    write_verdict(file, &subject->verdict);
    write_points(file, digest);
    write_views(file, digest);
    fputs("\"devices\":[", file);
    for (size_t i = 0; i < digest->device_count; i++) {
        fputs(i == 0 ? "" : ",\n", file);
        write_device(file, digest, &digest->devices[i]);
    }
    fputs("]}", file);
}

void sh_report_json(FILE *file, const sh_subject *subjects, size_t count)
{
    fputs("{\"report\":1,\"runs\":[\n", file);
    for (size_t i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ",\n", file);
        write_run(file, &subjects[i]);
    }
    fputs("]}\n", file);
}
