/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all windows that training would cut from a file. Columns are found by name if both files
 * have a header, otherwise they must be in the order of training.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/contents.h"
#include "data/file_reader.h"
#include "data/series/series_rows.h"
#include "data/table/csv.h"
#include "data/table/notes.h"

typedef struct column {
    const char *name;       /* borrowed from the trained run */
    double mean, deviation; /* from training */
    size_t at;              /* column in the rows of the open file */
} column;

typedef struct series_reader {
    sh_file_reader base;
    column *columns; /* owned */
    size_t count;
    bool numbered; /* no header in training: names are numbers */
    uint32_t window, stride, skip_lines;
    const char *label; /* column of labels in training, or NULL; borrowed */
    sh_series_rows rows;
    char *name;           /* path of the open file; owned */
    uint64_t next, total; /* next row and number of rows of it */
    double *room;         /* scratch space for a window; owned */
} series_reader;

static bool series_is_named(const char *name)
{
    static const char *const endings[] = {".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t bytes = strlen(endings[i]);
        if (length > bytes && strcmp(name + length - bytes, endings[i]) == 0)
            return true;
    }
    return false;
}

/* --- a file --- */

/* Sets *label to the trained column of labels if the first row has it, otherwise "". */
static sh_status find_label(const char **label, const series_reader *s, const char *path)
{
    sh_csv *csv;
    const sh_csv_row *row;
    *label = "";
    if (s->label == NULL)
        return SH_OK;
    SH_TRY(sh_csv_open(&csv, path, s->skip_lines));
    const sh_status status = sh_csv_next(csv, &row);
    for (size_t i = 0; status == SH_OK && row != NULL && i < row->count; i++)
        if (strcmp(row->fields[i], s->label) == 0)
            *label = s->label;
    sh_csv_close(csv);
    return status;
}

static sh_status find_columns(series_reader *s, const char *path)
{
    const sh_series_rows *rows = &s->rows;
    sh_names missing = {0};
    for (size_t i = 0; i < s->count; i++) {
        column *c = &s->columns[i];
        c->at = i;
        if (s->numbered || !rows->header) {
            if (rows->count == s->count)
                continue;
            return sh_fail(SH_MISMATCH,
                           "%s: has %zu columns of numbers, but the run was trained with %zu", path,
                           rows->count, s->count);
        }
        for (c->at = 0; c->at < rows->count; c->at++)
            if (strcmp(rows->columns[c->at].name, c->name) == 0)
                break;
        if (c->at == rows->count)
            sh_names_add(&missing, "%s", c->name);
    }
    if (missing.count == 0)
        return SH_OK;
    return sh_fail(SH_NOT_FOUND, "%s: columns that the run was trained with are missing: %s", path,
                   sh_names_end(&missing));
}

static sh_status read_file(series_reader *s, const char *path)
{
    sh_series_form form = {.skip_lines = s->skip_lines};
    uint64_t first;
    SH_TRY(find_label(&form.target, s, path));
    sh_series_rows_init(&s->rows, &form);
    SH_TRY(sh_series_rows_add(&s->rows, &first, &s->total, path, path));
    SH_TRY(sh_series_rows_end(&s->rows));
    SH_TRY(find_columns(s, path));
    if (s->total < s->window)
        return sh_fail(SH_FORMAT,
                       "%s: has %" PRIu64 " rows, fewer than the window of %u that the run was "
                       "trained with",
                       path, s->total, s->window);
    s->room = malloc(s->window * s->rows.width * sizeof *s->room);
    s->name = strdup(path);
    s->next = 0;
    return s->room != NULL && s->name != NULL
               ? SH_OK
               : sh_fail_memory(s->window * s->rows.width * sizeof *s->room, "a window");
}

static void series_end(sh_file_reader *reader)
{
    series_reader *s = (series_reader *)(void *)reader;
    sh_series_rows_release(&s->rows);
    free(s->room);
    free(s->name);
    s->room = NULL;
    s->name = NULL;
}

static sh_status series_begin(sh_file_reader *reader, const char *path, int fd)
{
    (void)fd;
    const sh_status status = read_file((series_reader *)(void *)reader, path);
    if (status != SH_OK)
        series_end(reader);
    return status;
}

static sh_status series_next(sh_file_reader *reader, void *sample, sh_file_reader_place *place,
                             bool *more)
{
    series_reader *s = (series_reader *)(void *)reader;
    const uint64_t row = s->next;
    float *out = sample;
    *more = row + s->window <= s->total;
    if (!*more)
        return SH_OK;
    s->next += s->stride;
    snprintf(place->where, sizeof place->where, "row %" PRIu64, row + 1);
    SH_TRY(sh_series_rows_read(&s->rows, row, s->room, s->window));
    for (size_t i = 0; i < s->count; i++) {
        const column *c = &s->columns[i];
        for (uint32_t t = 0; t < s->window; t++) {
            *out = (float)((s->room[t * s->rows.width + c->at] - c->mean) / c->deviation);
            if (!isfinite(*out++))
                return sh_fail(SH_CORRUPT,
                               "%s: row %" PRIu64 ": its %.64s is too far from those of the "
                               "training",
                               s->name, row + t + 1, c->name);
        }
    }
    return SH_OK;
}

static void series_free(sh_file_reader *reader)
{
    free(((series_reader *)(void *)reader)->columns);
    free(reader);
}

/* --- the trained run --- */

static sh_status take_columns(series_reader *s, const json_t *columns)
{
    const size_t count = json_array_size(columns);
    if (count == 0 || count > SH_SERIES_COLUMNS_MOST)
        return sh_file_reader_malformed();
    s->columns = calloc(count, sizeof *s->columns);
    if (s->columns == NULL)
        return sh_fail_memory(count * sizeof *s->columns, "columns");
    s->count = count;
    s->numbered = true;
    for (size_t i = 0; i < count; i++) {
        column *c = &s->columns[i];
        const json_t *object = json_array_get(columns, i);
        c->name = json_string_value(json_object_get(object, "name"));
        if (c->name == NULL || !sh_file_reader_figure(&c->mean, object, "mean") ||
            !sh_file_reader_figure(&c->deviation, object, "deviation") || !(c->deviation > 0))
            return sh_file_reader_malformed();
        s->numbered &= c->name[strspn(c->name, "0123456789")] == '\0';
    }
    return SH_OK;
}

static sh_status take(series_reader *s, const sh_trained *trained)
{
    const json_t *inputs = sh_file_reader_inputs(trained, "series");
    const sh_dataset_info *info = &trained->info;
    s->window = (uint32_t)sh_file_reader_number(inputs, "window", SH_CONTENTS_SIDE_MOST);
    s->stride = (uint32_t)sh_file_reader_number(inputs, "stride", UINT32_MAX / 2);
    s->label = json_string_value(json_object_get(inputs, "label"));
    SH_TRY(take_columns(s, json_object_get(inputs, "columns")));
    return s->window > 0 && s->stride > 0 && info->element == SH_ELEMENT_FLOAT &&
                   info->channels == s->count && info->height == 1 && info->width == s->window
               ? SH_OK
               : sh_file_reader_malformed();
}

sh_status sh_series_reader(sh_file_reader **reader, const sh_trained *trained,
                           const sh_read_options *options)
{
    static const sh_file_reader_ops ops = {.files = "series of readings",
                                           .is_named = series_is_named,
                                           .begin = series_begin,
                                           .next = series_next,
                                           .end = series_end,
                                           .free = series_free};
    series_reader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a reader of series");
    fresh->base.ops = &ops;
    fresh->skip_lines = options->skip_lines;
    fresh->rows.fd = -1;
    const sh_status status = take(fresh, trained);
    if (status != SH_OK) {
        series_free(&fresh->base);
        return status;
    }
    *reader = &fresh->base;
    return SH_OK;
}
