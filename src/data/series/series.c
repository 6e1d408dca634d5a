/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats `series:FILE` and `series:DIR`: windows of rows of sensor readings in CSV files.
 *
 * A sample is options->window consecutive rows of one file, as [columns][1][window]. One starts
 * every options->stride rows. Columns are (value - mean) / deviation, computed from the training
 * windows. A window's label is its file's (series_files.h), or the one in column --target that at
 * least three quarters of its rows share; windows without such a majority are left out.
 *
 * All windows of a file, or of a group of files, are in one split (data/split.h). A single file is
 * cut in time: windows after the cut are validation windows, and training windows end at least one
 * window length before it, so that none adjoins a validation window.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/contents.h"
#include "data/file_reader.h"
#include "data/packed.h"
#include "data/series/series_files.h"
#include "data/series/series_rows.h"
#include "data/split.h"
#include "data/table/cell.h"
#include "data/table/csv.h"
#include "data/table/notes.h"

#define VERSION "series 1" /* in the digest: version of the conversion */
#define WINDOW 128u
#define CONTENT_MOST (256u << 20) /* largest file whose content is in the digest */

typedef struct window {
    uint64_t row;
    uint32_t file, class;
} window;

typedef struct windows {
    window *items; /* owned */
    size_t count, capacity;
} windows;

typedef struct series_source {
    sh_source base;
    sh_series_files files;
    sh_series_rows rows;
    uint64_t *first, *counts; /* first row and number of rows of each file; owned */
    uint32_t window, stride;
    windows of[SH_SPLITS];
    const char **classes; /* sorted by bytes, or by value if all are numbers; owned */
    uint32_t class_count;
    double *mean, *deviation; /* [columns]; owned */
} series_source;

static json_t *notes_of(const series_source *s)
{
    return json_object_get(s->base.about, "notes");
}

/* --- the files --- */

static sh_status read_files(series_source *s, const sh_read_options *options, bool labelled)
{
    const size_t count = s->files.count;
    const sh_series_form form = {.skip_lines = options->skip_lines,
                                 .target = options->target == NULL ? "" : options->target,
                                 .finds_target = labelled && !s->files.labels};
    sh_series_rows_init(&s->rows, &form);
    if (strchr(form.target, ',') != NULL)
        return sh_fail(SH_INVALID, "--target %s: a series has only one column of labels",
                       form.target);
    s->first = calloc(count, sizeof *s->first);
    s->counts = calloc(count, sizeof *s->counts);
    if (s->first == NULL || s->counts == NULL)
        return sh_fail_memory(count * sizeof *s->first, "files");
    for (size_t i = 0; i < count; i++)
        SH_TRY(sh_series_rows_add(&s->rows, &s->first[i], &s->counts[i], s->files.items[i].path,
                                  s->files.items[i].name));
    SH_TRY(sh_series_rows_end(&s->rows));
    if (!labelled || s->files.labels || s->rows.target != SIZE_MAX)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "%s: windows have no labels: name the column with --target, or the place in the "
                   "files' names with --label-from, or put the files into a folder for each class; "
                   "or learn without labels: --task %s",
                   s->base.place, sh_target_name(SH_TARGET_SAMPLE));
}

/* --- classes --- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_value(const void *a, const void *b)
{
    double x, y;
    (void)sh_cell_read(&x, *(const char *const *)a);
    (void)sh_cell_read(&y, *(const char *const *)b);
    return x != y ? (x > y) - (x < y) : by_bytes(a, b);
}

static void sort_classes(series_source *s)
{
    bool numbers = true;
    double value;
    for (uint32_t i = 0; i < s->class_count && numbers; i++)
        numbers = sh_cell_read(&value, s->classes[i]) == SH_CELL_NUMBER;
    qsort(s->classes, s->class_count, sizeof *s->classes, numbers ? by_value : by_bytes);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->class_count; i++)
        if (kept == 0 || strcmp(s->classes[kept - 1], s->classes[i]) != 0)
            s->classes[kept++] = s->classes[i];
    s->class_count = kept;
}

static uint32_t class_of(const series_source *s, const char *name)
{
    uint32_t class = 0;
    while (class + 1 < s->class_count && strcmp(s->classes[class], name) != 0)
        class ++;
    return class;
}

static sh_status set_classes(series_source *s)
{
    const bool column = s->rows.target != SIZE_MAX;
    const size_t most = column ? s->rows.class_count : s->files.count;
    s->classes = calloc(most > 0 ? most : 1, sizeof *s->classes);
    if (s->classes == NULL)
        return sh_fail_memory(most * sizeof *s->classes, "classes");
    for (size_t i = 0; i < most; i++)
        s->classes[s->class_count++] = column ? s->rows.classes[i] : s->files.items[i].label;
    sort_classes(s);
    if (s->class_count > SH_SERIES_CLASSES_MOST)
        return sh_fail(SH_LIMIT, "%s: there are %u classes; at most %d can be learnt",
                       s->base.place, s->class_count, SH_SERIES_CLASSES_MOST);
    if (s->class_count < 2)
        return sh_fail(SH_INVALID, "%s: all windows are of one class%s%s; at least two are needed",
                       s->base.place, s->class_count == 1 ? ", " : "",
                       s->class_count == 1 ? s->classes[0] : "");
    json_t *names = json_array();
    int failed = 0;
    for (uint32_t i = 0; i < s->class_count; i++)
        failed |= json_array_append_new(names, json_string(s->classes[i]));
    if (json_object_set_new(s->base.about, "classes", names) != 0 || failed != 0)
        return sh_fail(SH_INVALID, "%s: the name of a class is not UTF-8", s->base.place);
    return SH_OK;
}

/* Finds the class of at least three quarters of a window's rows. */
static bool find_majority(uint32_t *class, const double *numbers, size_t width, uint32_t rows,
                          uint32_t *votes)
{
    bool found = false;
    memset(votes, 0, SH_SERIES_CLASSES_MOST * sizeof *votes);
    for (uint32_t i = 0; i < rows && !found; i++) {
        const double label = numbers[(i + 1) * width - 1];
        if (label < 0)
            continue;
        found = 4 * (uint64_t)++votes[(uint32_t)label] >= 3 * (uint64_t)rows;
        *class = (uint32_t)label;
    }
    return found;
}

/* --- windows --- */

typedef struct left_out {
    uint64_t short_files, mixed, gap;
    uint64_t longest; /* most rows of a file */
} left_out;

static sh_status add_window(series_source *s, sh_split split, const window *fresh)
{
    windows *w = &s->of[split];
    if (w->count >= UINT32_MAX / 4)
        return sh_fail(SH_LIMIT, "%s: there are more than %u windows; use a larger --stride",
                       s->base.place, UINT32_MAX / 4);
    SH_TRY(sh_array_grow((void **)&w->items, &w->capacity, w->count + 1, sizeof *w->items));
    w->items[w->count++] = *fresh;
    return SH_OK;
}

static uint64_t cut_of(const series_source *s, double part)
{
    return (uint64_t)((double)s->counts[0] * (1 - part));
}

/* `room`: scratch space for a window, followed by votes. */
static sh_status cut_file(series_source *s, uint32_t file, double part, double *room, left_out *out)
{
    const bool alone = s->files.count == 1;
    const uint64_t rows = s->counts[file], cut = alone ? cut_of(s, part) : 0;
    const size_t width = s->rows.width;
    uint32_t *votes = (uint32_t *)(void *)(room + s->window * width);
    if (rows > out->longest)
        out->longest = rows;
    if (rows < s->window)
        out->short_files++;
    for (uint64_t row = 0; row + s->window <= rows; row += s->stride) {
        window fresh = {.row = s->first[file] + row, .file = file};
        sh_split split = s->files.items[file].split;
        if (alone) {
            split = row >= cut ? SH_SPLIT_VALIDATION : SH_SPLIT_TRAIN;
            if (row < cut && row + 2 * (uint64_t)s->window > cut) {
                out->gap++;
                continue;
            }
        }
        if (s->base.info.target == SH_TARGET_CLASS && s->rows.target != SIZE_MAX) {
            SH_TRY(sh_series_rows_read(&s->rows, fresh.row, room, s->window));
            if (!find_majority(&fresh.class, room, width, s->window, votes)) {
                out->mixed++;
                continue;
            }
            fresh.class = class_of(s, s->rows.classes[fresh.class]);
        } else if (s->base.info.target == SH_TARGET_CLASS) {
            fresh.class = class_of(s, s->files.items[file].label);
        }
        SH_TRY(add_window(s, split, &fresh));
    }
    return SH_OK;
}

static sh_status check_windows(const series_source *s, const left_out *out)
{
    for (int split = 0; split < SH_SPLITS; split++)
        if (s->of[split].count == 0) {
            if (out->longest < s->window)
                return sh_fail(SH_INVALID,
                               "%s: the longest of %zu files has %" PRIu64 " rows, fewer than a "
                               "window of %u; use a smaller --window",
                               s->base.place, s->files.count, out->longest, s->window);
            return sh_fail(SH_INVALID,
                           "%s: no window is left for %s: of %u rows each, %" PRIu64
                           " are next to the cut and %" PRIu64
                           " have no label that three quarters of their rows share; use a smaller "
                           "--window, or more data",
                           s->base.place, sh_split_name((sh_split)split), s->window, out->gap,
                           out->mixed);
        }
    json_t *notes = notes_of(s);
    if (out->short_files > 0)
        SH_TRY(sh_notes_add(notes, "%" PRIu64 " of %zu files are shorter than a window of %u rows",
                            out->short_files, s->files.count, s->window));
    if (out->mixed > 0)
        SH_TRY(sh_notes_add(notes,
                            "%" PRIu64 " windows are left out: fewer than three quarters of their "
                            "rows have one label",
                            out->mixed));
    if (s->files.count == 1)
        SH_TRY(sh_notes_add(notes,
                            "the end of the file is for validation; %" PRIu64
                            " windows next to it are left out",
                            out->gap));
    return SH_OK;
}

/* Assigns a split to each file, if there are several and their names give none. */
static sh_status split_files(series_source *s, double part)
{
    const size_t count = s->files.count;
    const bool labels = s->base.info.target == SH_TARGET_CLASS && s->rows.target == SIZE_MAX;
    if (count == 1 || s->files.splits)
        return SH_OK;
    sh_split_item *items = calloc(count, sizeof *items);
    if (items == NULL)
        return sh_fail_memory(count * sizeof *items, "the split");
    for (size_t i = 0; i < count; i++) {
        items[i].name = s->files.items[i].group;
        items[i].class = labels ? class_of(s, s->files.items[i].label) : 0;
    }
    const sh_status status = sh_fail_in(
        sh_split_assign(items, count, labels ? s->class_count : 1, part), "%s", s->base.place);
    for (size_t i = 0; i < count && status == SH_OK; i++)
        s->files.items[i].split = items[i].split;
    free(items);
    return status;
}

static sh_status cut_windows(series_source *s, double part)
{
    left_out out = {0};
    const size_t bytes =
        s->window * s->rows.width * sizeof(double) + SH_SERIES_CLASSES_MOST * sizeof(uint32_t);
    if (s->rows.count * (uint64_t)s->window > SH_CONTENTS_SAMPLE_MOST / sizeof(float) ||
        s->window > SH_CONTENTS_SIDE_MOST)
        return sh_fail(SH_LIMIT, "--window %u: with %zu columns is too large for a sample",
                       s->window, s->rows.count);
    double *room = malloc(bytes);
    if (room == NULL)
        return sh_fail_memory(bytes, "a window");
    sh_status status = split_files(s, part);
    for (uint32_t i = 0; i < s->files.count && status == SH_OK; i++)
        status = cut_file(s, i, part, room, &out);
    free(room);
    SH_TRY(status);
    return check_windows(s, &out);
}

static sh_status note_classes(const series_source *s)
{
    if (s->base.info.target != SH_TARGET_CLASS)
        return SH_OK;
    for (int split = 0; split < SH_SPLITS; split++) {
        bool there[SH_SERIES_CLASSES_MOST] = {false};
        sh_names missing = {0};
        for (size_t i = 0; i < s->of[split].count; i++)
            there[s->of[split].items[i].class] = true;
        for (uint32_t class = 0; class < s->class_count; class ++)
            if (!there[class])
                sh_names_add(&missing, "%s", s->classes[class]);
        if (missing.count > 0)
            SH_TRY(sh_notes_add(notes_of(s), "no %s window is of class %s",
                                sh_split_name((sh_split)split), sh_names_end(&missing)));
    }
    return SH_OK;
}

/* --- mean and deviation --- */

/* Sums the values of the training windows, or their squared distances from `mean` unless NULL. */
static sh_status add_up(const series_source *s, double *room, double *sums, const double *mean)
{
    const size_t width = s->rows.width, columns = s->rows.count;
    const windows *w = &s->of[SH_SPLIT_TRAIN];
    memset(sums, 0, columns * sizeof *sums);
    for (size_t i = 0; i < w->count; i++) {
        SH_TRY(sh_series_rows_read(&s->rows, w->items[i].row, room, s->window));
        for (size_t c = 0; c < columns; c++) {
            double sum = 0;
            for (uint32_t t = 0; t < s->window; t++) {
                const double value = room[t * width + c], from = value - (mean ? mean[c] : 0);
                sum += mean != NULL ? from * from : from;
            }
            sums[c] += sum;
        }
    }
    return SH_OK;
}

static sh_status set_figures(series_source *s)
{
    const size_t columns = s->rows.count, bytes = s->window * s->rows.width * sizeof(double);
    const double count = (double)s->of[SH_SPLIT_TRAIN].count * s->window;
    sh_names constant = {0};
    double *room = malloc(bytes);
    s->mean = malloc(columns * sizeof *s->mean);
    s->deviation = malloc(columns * sizeof *s->deviation);
    sh_status status = SH_OK;
    if (room == NULL || s->mean == NULL || s->deviation == NULL)
        SH_TRY_DONE(sh_fail_memory(bytes, "figures of the columns"));
    SH_TRY_DONE(add_up(s, room, s->mean, NULL));
    for (size_t c = 0; c < columns; c++)
        s->mean[c] /= count;
    SH_TRY_DONE(add_up(s, room, s->deviation, s->mean));
    for (size_t c = 0; c < columns; c++) {
        const double variance = s->deviation[c] / count;
        if (!isfinite(variance))
            SH_TRY_DONE(sh_fail(SH_NUMERIC,
                                "%s: the numbers of column %.64s are too large to "
                                "average; scale them down",
                                s->base.place, s->rows.columns[c].name));
        s->deviation[c] = variance > 0 ? sqrt(variance) : 1;
        if (!(variance > 0))
            sh_names_add(&constant, "%s", s->rows.columns[c].name);
    }
    if (constant.count > 0)
        SH_TRY_DONE(sh_notes_add(notes_of(s), "never change in the training windows: %s",
                                 sh_names_end(&constant)));
done:
    free(room);
    return status;
}

/* JSON formats the number, since packed notes must not depend on the locale. */
static sh_status note_time(const series_source *s)
{
    json_t *number = json_real(s->rows.interval);
    char *text = json_dumps(number, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    json_decref(number);
    if (text == NULL)
        return sh_fail_memory(0, "the description of the data");
    const sh_status status = sh_notes_add(
        notes_of(s), "column %s is dropped; rows are %s apart in it", s->rows.time, text);
    free(text);
    return status;
}

static sh_status describe(const series_source *s)
{
    const sh_series_rows *rows = &s->rows;
    json_t *columns = json_array();
    int failed = 0;
    for (size_t c = 0; c < rows->count; c++) {
        const sh_series_column *column = &rows->columns[c];
        failed |= json_array_append_new(columns,
                                        json_pack("{s:s, s:f, s:f}", "name", column->name, "mean",
                                                  s->mean[c], "deviation", s->deviation[c]));
        if (column->filled > 0)
            SH_TRY(sh_notes_add(notes_of(s), "column %s: %" PRIu64 " missing values interpolated",
                                column->name, column->filled));
    }
    if (rows->time != NULL)
        SH_TRY(note_time(s));
    if (rows->disordered > 0)
        SH_TRY(sh_notes_add(notes_of(s),
                            "the time does not increase at %" PRIu64 " rows, first at line %" PRIu64
                            " of %s; rows are kept in the order of the file",
                            rows->disordered, rows->disorder_line, rows->disorder_name));
    if (s->files.others > 0)
        SH_TRY(
            sh_notes_add(notes_of(s), "%zu files with other names are left out", s->files.others));
    json_t *inputs =
        json_pack("{s:s, s:o, s:i, s:i, s:f}", "kind", "series", "columns", columns, "window",
                  (int)s->window, "stride", (int)s->stride, "interval", rows->interval);
    if (json_object_set_new(s->base.about, "inputs", inputs) != 0 || failed != 0)
        return sh_fail_memory(0, "the description of the data");
    if (rows->target_name != NULL &&
        json_object_set_new(inputs, "label", json_string(rows->target_name)) != 0)
        return sh_fail_memory(0, "the description of the data");
    if (rows->time == NULL)
        return SH_OK;
    return json_object_set_new(inputs, "dropped", json_string(rows->time)) == 0
               ? SH_OK
               : sh_fail_memory(0, "the description of the data");
}

/* --- the source --- */

static sh_status series_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                             void *target)
{
    const series_source *s = (const series_source *)source;
    const window *w = &s->of[split].items[index];
    const size_t width = s->rows.width, bytes = s->window * width * sizeof(double);
    double *room = malloc(bytes);
    if (room == NULL)
        return sh_fail_memory(bytes, "a window");
    sh_status status = sh_series_rows_read(&s->rows, w->row, room, s->window);
    float *out = sample;
    for (size_t c = 0; c < s->rows.count && status == SH_OK; c++)
        for (uint32_t t = 0; t < s->window && status == SH_OK; t++) {
            *out = (float)((room[t * width + c] - s->mean[c]) / s->deviation[c]);
            if (!isfinite(*out++))
                status =
                    sh_fail(SH_CORRUPT, "%s: row %" PRIu64 ": its %.64s is too far from all others",
                            s->files.items[w->file].name, w->row + t - s->first[w->file] + 1,
                            s->rows.columns[c].name);
        }
    free(room);
    if (source->info.target == SH_TARGET_CLASS)
        *(int32_t *)target = (int32_t)w->class;
    return status;
}

static sh_status series_unchanged(const sh_source *source)
{
    return sh_series_files_unchanged(&((const series_source *)source)->files);
}

static void series_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                        size_t bytes)
{
    const series_source *s = (const series_source *)source;
    const window *w = &s->of[split].items[index];
    snprintf(text, bytes, "%s, row %" PRIu64, s->files.items[w->file].name,
             w->row - s->first[w->file] + 1);
}

static void series_close(sh_source *source)
{
    series_source *s = (series_source *)source;
    sh_series_files_release(&s->files);
    sh_series_rows_release(&s->rows);
    for (int i = 0; i < SH_SPLITS; i++)
        free(s->of[i].items);
    free(s->first);
    free(s->counts);
    free(s->classes);
    free(s->mean);
    free(s->deviation);
    json_decref(source->about);
    free((char *)(uintptr_t)source->place);
    free(s);
}

static const sh_source_ops series_ops = {series_read, series_unchanged, series_name, series_close};

static sh_status digest_content(const sh_series_file *file, sh_digest *digest)
{
    sh_csv *csv;
    char hex[SH_DIGEST_TEXT];
    SH_TRY(sh_csv_open(&csv, file->path, 0));
    const sh_status status = sh_csv_digest(csv, hex);
    sh_csv_close(csv);
    SH_TRY(status);
    sh_digest_add(digest, hex, sizeof hex);
    return SH_OK;
}

/* Must cover the files and every option that affects a sample. */
static sh_status set_digest(series_source *s, const sh_read_options *options, double part)
{
    sh_digest *digest;
    char text[512];
    SH_TRY(sh_digest_new(&digest));
    snprintf(text, sizeof text, "%s %s %u %u %" PRIu64 " %u %d/%.255s/%.95s", VERSION,
             sh_target_name(s->base.info.target), s->window, s->stride, (uint64_t)(part * 0x1p32),
             options->skip_lines, options->skip_damaged,
             options->target == NULL ? "" : options->target,
             options->label_from == NULL ? "" : options->label_from);
    sh_digest_add(digest, text, strlen(text) + 1);
    sh_status status = SH_OK;
    if (!s->files.folder && s->files.items[0].bytes <= CONTENT_MOST)
        status = digest_content(&s->files.items[0], digest);
    else
        sh_series_files_digest(&s->files, digest);
    const sh_status end = sh_digest_finish(digest, s->base.digest);
    SH_TRY(status);
    return end;
}

static sh_status set_task(series_source *s, const char *task)
{
    sh_target kind = SH_TARGET_CLASS;
    if (task != NULL && task[0] != '\0' && !sh_target_find(&kind, task))
        return sh_fail(SH_INVALID, "--task %s: no such task", task);
    if (kind != SH_TARGET_CLASS && kind != SH_TARGET_SAMPLE)
        return sh_fail(SH_UNSUPPORTED, "--task %s: windows of a series can be learnt by %s or %s",
                       task, sh_target_name(SH_TARGET_CLASS), sh_target_name(SH_TARGET_SAMPLE));
    s->base.info.target = kind;
    return SH_OK;
}

static sh_status look_into(series_source *s, const sh_read_options *options)
{
    sh_dataset_info *info = &s->base.info;
    const double part = options->val_split > 0 ? (double)options->val_split : 0.2;
    s->window = options->window > 0 ? options->window : WINDOW;
    s->stride = options->stride > 0 ? options->stride : s->window > 1 ? s->window / 2 : 1;
    s->base.about = json_pack("{s:[]}", "notes");
    if (s->base.about == NULL)
        return sh_fail_memory(0, "the description of the data");
    SH_TRY(set_task(s, options->task));
    SH_TRY(sh_series_files_find(&s->files, s->base.place, options->label_from));
    SH_TRY(read_files(s, options, info->target == SH_TARGET_CLASS));
    if (info->target == SH_TARGET_CLASS)
        SH_TRY(set_classes(s));
    SH_TRY(cut_windows(s, part));
    SH_TRY(note_classes(s));
    SH_TRY(set_figures(s));
    SH_TRY(describe(s));
    info->channels = s->rows.count;
    info->height = 1;
    info->width = s->window;
    info->element = SH_ELEMENT_FLOAT;
    for (int split = 0; split < SH_SPLITS; split++)
        info->count[split] = (uint32_t)s->of[split].count;
    info->outputs =
        info->target == SH_TARGET_CLASS ? s->class_count : (uint32_t)sh_dataset_elements(info);
    return set_digest(s, options, part);
}

static sh_status series_look(sh_source **source, const sh_format *format, const char *argument,
                             const sh_read_options *options)
{
    series_source *s = calloc(1, sizeof *s);
    char *place = malloc(strlen(argument) + 1);
    if (s == NULL || place == NULL) {
        free(s);
        free(place);
        return sh_fail_memory(sizeof *s, "the series");
    }
    memcpy(place, argument, strlen(argument) + 1);
    s->rows.fd = -1;
    s->base.ops = &series_ops;
    s->base.place = place;
    s->base.info.name = format->name;
    const sh_status status = look_into(s, options);
    if (status != SH_OK) {
        series_close(&s->base);
        return status;
    }
    *source = &s->base;
    return SH_OK;
}

const sh_format sh_series_format = {
    .name = "series",
    .usage = "series:PATH",
    .summary = "sensor readings in windows: a CSV file, or a folder of them",
    .open = sh_packed_dataset,
    .file_reader = sh_series_reader,
    .look = series_look,
};
