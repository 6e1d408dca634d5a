/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

/* `failed`: out of memory. Objects take members over. */
typedef struct writer {
    const sh_run_digest *digest;
    bool failed;
} writer;

static void set(writer *w, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        w->failed = true;
}

static void append(writer *w, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        w->failed = true;
}

/* Rounds to the digits that charts and tables need. */
static json_t *number(double value)
{
    char text[32];
    if (!isfinite(value))
        return json_null();
    snprintf(text, sizeof text, "%.*g", fabs(value) < 1e5 ? 5 : 10, value);
    const double rounded = strtod(text, NULL);
    const bool whole = rounded == rint(rounded) && fabs(rounded) < 1e15;
    return whole ? json_integer((json_int_t)rounded) : json_real(rounded);
}

static json_t *series(writer *w, const double *values, size_t stride, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        append(w, array, number(values[i * stride]));
    return array;
}

static json_t *columns(writer *w, const double *table, size_t count, const char *const *names,
                       size_t name_count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < name_count; i++)
        set(w, object, names[i], series(w, table + i, name_count, count));
    return object;
}

static json_t *device_json(writer *w, const sh_digest_device *device)
{
    const size_t parts = w->digest->part_count;
    json_t *object = json_object(), *split = json_object();
    json_t *figures = json_object(), *all_series = json_object();
    set(w, object, "name", json_string(device->name));
    set(w, object, "device", number(device->device));
    set(w, object, "lanes", number(device->lanes));
    set(w, object, "cores", number(device->cores > 0 ? (double)device->cores : NAN));
    set(w, object, "steps", number((double)device->steps));
    set(w, object, "grains", number((double)device->grains));
    set(w, object, "samples", number((double)device->samples));
    set(w, object, "grain_seconds", number(device->grain_seconds));
    set(w, object, "step_seconds", number(device->wall));
    for (int i = 0; i < SH_STEP_SPLIT_COUNT; i++) {
        json_t *part = json_object();
        set(w, part, "mean", number(device->split[i]));
        set(w, part, "series", series(w, device->series[i], 1, parts));
        set(w, split, sh_step_split_name(i), part);
    }
    set(w, object, "split", split);
    for (int i = 0; i < SH_FIGURE_COUNT; i++) {
        const sh_digest_figure *figure = &device->figures[i];
        const char *name = sh_figure_name((sh_figure)i);
        json_t *totals = json_object();
        set(w, totals, "total", number(figure->total));
        set(w, totals, "least", number(figure->least));
        set(w, totals, "most", number(figure->most));
        set(w, totals, "mean", number(figure->mean));
        set(w, figures, name, totals);
        if (figure->series != NULL)
            set(w, all_series, name, series(w, figure->series, 1, parts));
    }
    set(w, object, "figures", figures);
    set(w, object, "series", all_series);
    return object;
}

static json_t *bottleneck_json(writer *w, const sh_bottleneck *bottleneck)
{
    json_t *object = json_object(), *findings = json_array();
    set(w, object, "text", json_string(bottleneck->text));
    for (size_t i = 0; i < bottleneck->finding_count; i++) {
        const sh_finding *each = &bottleneck->findings[i];
        json_t *finding = json_object();
        set(w, finding, "cause", json_string(sh_cause_name(each->cause)));
        set(w, finding, "text", json_string(each->text));
        set(w, finding, "index", number(each->device < 0 ? NAN : (double)each->device));
        set(w, finding, "cost", number(each->cost));
        append(w, findings, finding);
    }
    set(w, object, "findings", findings);
    return object;
}

static json_t *run_json(writer *w, const sh_bottleneck *bottleneck, const json_t *quality)
{
    static const char *const points[] = {"step",
                                         "seconds",
                                         "loss",
                                         "loss_least",
                                         "loss_most",
                                         "accuracy",
                                         "samples_per_second",
                                         "learning_rate"};
    static const char *const epochs[] = {"epoch",    "step",     "seconds",     "loss",
                                         "accuracy", "val_loss", "val_accuracy"};
    enum { POINTS = sizeof points / sizeof *points, EPOCHS = sizeof epochs / sizeof *epochs };
    _Static_assert(sizeof(sh_digest_point) == POINTS * sizeof(double), "a name for each member");
    _Static_assert(sizeof(sh_digest_epoch) == EPOCHS * sizeof(double), "a name for each member");
    const sh_run_digest *digest = w->digest;
    json_t *object = json_object(), *views = json_array(), *devices = json_array();
    set(w, object, "name", json_string(digest->name));
    set(w, object, "model", json_string(digest->model));
    set(w, object, "data", json_string(digest->data));
    set(w, object, "status", json_string(digest->status));
    set(w, object, "version", json_string(digest->version));
    json_t *job = json_string(digest->job);
    set(w, object, "job", job != NULL ? job : json_null()); /* as the program wrote it */
    set(w, object, "weights_hash", json_string(digest->weights_hash));
    set(w, object, "parameters", number((double)digest->parameters));
    set(w, object, "sessions", number(digest->sessions));
    set(w, object, "steps", number((double)digest->steps));
    set(w, object, "steps_planned", number((double)digest->steps_planned));
    set(w, object, "samples", number((double)digest->samples));
    set(w, object, "redone", number((double)digest->redone));
    set(w, object, "seconds", number(digest->seconds));
    set(w, object, "samples_per_second", number(digest->samples_per_second));
    set(w, object, "verdict", bottleneck_json(w, bottleneck));
    set(w, object, "points",
        columns(w, (const double *)digest->points, digest->point_count, points, POINTS));
    set(w, object, "epochs",
        columns(w, (const double *)digest->epochs, digest->epoch_count, epochs, EPOCHS));
    for (size_t i = 0; i < digest->view_count; i++) {
        const sh_digest_view *each = &digest->views[i];
        json_t *view = json_object();
        set(w, view, "reason", json_string(each->reason));
        set(w, view, "view", number(each->view));
        set(w, view, "step", number(each->step));
        set(w, view, "seconds", number(each->seconds));
        set(w, view, "grains", number((double)each->grains));
        set(w, view, "devices", number(each->devices));
        append(w, views, view);
    }
    set(w, object, "views", views);
    for (size_t i = 0; i < digest->device_count; i++)
        append(w, devices, device_json(w, &digest->devices[i]));
    set(w, object, "devices", devices);
    if (quality != NULL)
        set(w, object, "metrics", json_deep_copy(quality));
    return object;
}

/* Only strings contain characters with a meaning in HTML. */
static int put_escaped(const char *piece, size_t bytes, void *file)
{
    for (size_t i = 0; i < bytes; i++)
        if (piece[i] == '<' || piece[i] == '>' || piece[i] == '&')
            fprintf(file, "\\u%04x", (unsigned)piece[i]);
        else
            fputc(piece[i], file);
    return 0;
}

sh_status sh_report_json(FILE *file, const sh_subject *subjects, size_t count)
{
    writer w = {.failed = false};
    json_t *root = json_object(), *runs = json_array();
    for (size_t i = 0; i < count; i++) {
        w.digest = subjects[i].digest;
        append(&w, runs, run_json(&w, &subjects[i].bottleneck, subjects[i].quality));
    }
    set(&w, root, "report", json_integer(1));
    set(&w, root, "runs", runs);
    if (json_dump_callback(root, put_escaped, file, JSON_COMPACT | JSON_REAL_PRECISION(10)) != 0)
        w.failed = true;
    fputc('\n', file);
    json_decref(root);
    return w.failed ? sh_fail_memory(sizeof(json_t), "a report") : SH_OK;
}
