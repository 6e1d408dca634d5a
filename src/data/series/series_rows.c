/* SPDX-License-Identifier: Apache-2.0 */
#include "data/series/series_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/suggestion.h"
#include "data/extent.h"
#include "data/table/cell.h"
#include "data/table/csv.h"

#define BUFFER_NUMBERS 32768u

typedef struct reading {
    const char *name;
    double begun, ended; /* times in the file */
    uint64_t times;
} reading;

void sh_series_rows_init(sh_series_rows *rows, const sh_series_form *form)
{
    *rows = (sh_series_rows){.form = *form, .fd = -1, .target = SIZE_MAX};
    sh_arena_init(&rows->arena);
}

/* --- columns --- */

static bool is_time(const char *name)
{
    static const char *const names[] = {"timestamp", "time", "datetime", "date", "t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_header(const sh_csv_row *row)
{
    size_t words = 0;
    double value;
    for (size_t i = 0; i < row->count; i++)
        words += sh_cell_read(&value, row->fields[i]) == SH_CELL_WORD ? 1 : 0;
    return 2 * words > row->count;
}

/* Finds the field by name in `header`, which may be NULL, or by number. */
static sh_status find_target(size_t *field, const sh_series_rows *rows, const char *file,
                             const sh_csv_row *header)
{
    const char *wanted = rows->form.target;
    sh_suggestion meant = {.typed = wanted};
    for (size_t i = 0; i < rows->fields && header != NULL; i++) {
        if (strcmp(header->fields[i], wanted) == 0) {
            *field = i;
            return SH_OK;
        }
        sh_suggestion_offer(&meant, header->fields[i]);
    }
    const bool digits = wanted[strspn(wanted, "0123456789")] == '\0' && strlen(wanted) < 8;
    const unsigned long number = digits ? strtoul(wanted, NULL, 10) : 0;
    if (number >= 1 && number <= rows->fields) {
        *field = number - 1;
        return SH_OK;
    }
    return sh_fail(SH_INVALID, "%s: has no column '%s' for --target%s%s%s", file, wanted,
                   meant.name != NULL ? "; is '" : "", meant.name != NULL ? meant.name : "",
                   meant.name != NULL ? "' meant?" : "");
}

static char *name_of(sh_series_rows *rows, const sh_csv_row *header, size_t field)
{
    char number[32];
    snprintf(number, sizeof number, "%zu", field + 1);
    return sh_arena_text(&rows->arena, header != NULL ? header->fields[field] : number);
}

/* `header` is NULL without one. `row` is the first row of data. */
static sh_status set_columns(sh_series_rows *rows, const char *file, const sh_csv_row *header,
                             const sh_csv_row *row)
{
    double value;
    rows->fields = row->count;
    rows->header = header != NULL;
    const size_t last = row->count - 1;
    if (rows->form.target[0] != '\0')
        SH_TRY(find_target(&rows->target, rows, file, header));
    else if (rows->form.finds_target && last > 0 &&
             sh_cell_read(&value, row->fields[last]) == SH_CELL_WORD)
        rows->target = last;
    const bool time = header != NULL && rows->target != 0 && is_time(header->fields[0]);
    if (row->count > SH_SERIES_COLUMNS_MOST)
        return sh_fail(SH_LIMIT, "%s: has %zu columns; at most %d can be read", file, row->count,
                       SH_SERIES_COLUMNS_MOST);
    rows->columns = sh_arena_take(&rows->arena, row->count, sizeof *rows->columns);
    if (rows->columns == NULL)
        return sh_fail_memory(row->count * sizeof *rows->columns, "columns");
    for (size_t i = 0; i < row->count; i++) {
        char *name = name_of(rows, header, i);
        if (name == NULL)
            return sh_fail_memory(0, "names of columns");
        if (i == rows->target)
            rows->target_name = name;
        else if (i == 0 && time)
            rows->time = name;
        else
            rows->columns[rows->count++] = (sh_series_column){.name = name, .field = i};
    }
    if (rows->count == 0)
        return sh_fail(SH_INVALID, "%s: has no column of numbers beside %s", file,
                       rows->time != NULL ? "the time" : "the label");
    rows->width = rows->count + (rows->target != SIZE_MAX ? 1 : 0);
    rows->buffer_rows = rows->width < BUFFER_NUMBERS ? BUFFER_NUMBERS / rows->width : 1;
    rows->buffer = malloc(rows->buffer_rows * rows->width * sizeof *rows->buffer);
    if (rows->buffer == NULL)
        return sh_fail_memory(rows->buffer_rows * rows->width * sizeof *rows->buffer, "rows");
    snprintf(rows->first_name, sizeof rows->first_name, "%.255s", file);
    const char *folder;
    return sh_cache_unnamed(&rows->fd, &folder, "the rows of a series");
}

static sh_status check_columns(const sh_series_rows *rows, const char *file,
                               const sh_csv_row *header, const sh_csv_row *row)
{
    if (row->count != rows->fields)
        return sh_fail(SH_MISMATCH,
                       "%s: has %zu columns, but %s has %zu; all files of a series "
                       "need the same",
                       file, row->count, rows->first_name, rows->fields);
    if ((header != NULL) != rows->header)
        return sh_fail(SH_MISMATCH, "%s: has %s header, but %s has %s; all files need the same",
                       file, rows->header ? "no" : "a", rows->first_name,
                       rows->header ? "one" : "none");
    for (size_t i = 0, next = 0; i < rows->fields && header != NULL; i++) {
        const bool number = next < rows->count && rows->columns[next].field == i;
        const char *name = number              ? rows->columns[next++].name
                           : i == rows->target ? rows->target_name
                                               : rows->time;
        if (name != NULL && strcmp(header->fields[i], name) != 0)
            return sh_fail(SH_MISMATCH, "%s: its column %zu is '%.64s', but that of %s is '%.64s'",
                           file, i + 1, header->fields[i], rows->first_name, name);
    }
    return SH_OK;
}

/* --- values --- */

static sh_status flush(sh_series_rows *rows)
{
    const uint64_t at = rows->base * rows->width * sizeof(double);
    const size_t bytes = (size_t)(rows->rows - rows->base) * rows->width * sizeof(double);
    SH_TRY(sh_fail_in(sh_extent_write(rows->fd, at, (const uint8_t *)rows->buffer, bytes),
                      "the temporary file of rows"));
    rows->base = rows->rows;
    return SH_OK;
}

static sh_status set_value(sh_series_rows *rows, uint64_t row, size_t column, double value)
{
    if (row >= rows->base) {
        rows->buffer[(size_t)(row - rows->base) * rows->width + column] = value;
        return SH_OK;
    }
    return sh_extent_write(rows->fd, (row * rows->width + column) * sizeof value,
                           (const uint8_t *)&value, sizeof value);
}

/* The gap ends before `row`. `next` is the value at `row`, or NULL at the end of the file. */
static sh_status fill(sh_series_rows *rows, size_t column, uint64_t row, const double *next)
{
    sh_series_column *c = &rows->columns[column];
    const uint32_t gap = c->missing;
    for (uint32_t i = 0; i < gap; i++) {
        double value = c->last;
        if (next != NULL)
            value = c->known ? c->last + (*next - c->last) * ((double)(i + 1) / (gap + 1)) : *next;
        SH_TRY(set_value(rows, row - gap + i, column, value));
    }
    c->filled += gap;
    c->missing = 0;
    return SH_OK;
}

static sh_status take_number(sh_series_rows *rows, const reading *in, size_t column,
                             const sh_csv_row *row)
{
    sh_series_column *c = &rows->columns[column];
    double value;
    const char *text = row->fields[c->field];
    const sh_cell kind = sh_cell_read(&value, text);
    if (kind == SH_CELL_MISSING) {
        if (c->missing++ < SH_SERIES_GAP_MOST)
            return set_value(rows, rows->rows, column, 0); /* until `fill` */
        return sh_fail(SH_FORMAT,
                       "%s: line %" PRIu64 ": more than %d values of column %.64s are missing in a "
                       "row; fix them, or split the file there",
                       in->name, row->line, SH_SERIES_GAP_MOST, c->name);
    }
    if (kind != SH_CELL_NUMBER)
        return sh_fail(
            SH_FORMAT, "%s: line %" PRIu64 ": '%.40s' of column %.64s is not a %snumber%s",
            in->name, row->line, text, c->name, kind == SH_CELL_INFINITE ? "finite " : "",
            kind == SH_CELL_WORD
                ? "; correct it, or name the column with --target if it is the label"
                : "; fix it or remove the row");
    if (c->missing > 0)
        SH_TRY(fill(rows, column, rows->rows, &value));
    c->last = value;
    c->known = true;
    return set_value(rows, rows->rows, column, value);
}

static sh_status take_label(sh_series_rows *rows, const reading *in, const sh_csv_row *row)
{
    double value;
    char name[SH_CELL_NAME_BYTES];
    const char *text = row->fields[rows->target];
    if (sh_cell_read(&value, text) == SH_CELL_MISSING)
        return set_value(rows, rows->rows, rows->count, -1);
    (void)sh_cell_name(name, text);
    uint32_t class = 0;
    while (class < rows->class_count && strcmp(rows->classes[class], name) != 0)
        class ++;
    if (class == SH_SERIES_CLASSES_MOST)
        return sh_fail(SH_LIMIT,
                       "%s: line %" PRIu64
                       ": column %.64s has more than %d different labels; is it "
                       "the right one?",
                       in->name, row->line, rows->target_name, SH_SERIES_CLASSES_MOST);
    if (class == rows->class_count) {
        rows->classes[class] = sh_arena_text(&rows->arena, name);
        if (rows->classes[class] == NULL)
            return sh_fail_memory(sizeof name, "labels");
        rows->class_count++;
    }
    return set_value(rows, rows->rows, rows->count, class);
}

static void note_disorder(sh_series_rows *rows, const reading *in, const sh_csv_row *row)
{
    if (rows->disordered++ > 0)
        return;
    rows->disorder_line = row->line;
    snprintf(rows->disorder_name, sizeof rows->disorder_name, "%.255s", in->name);
}

static sh_status take_row(sh_series_rows *rows, reading *in, const sh_csv_row *row)
{
    double time;
    if (rows->rows - rows->base == rows->buffer_rows)
        SH_TRY(flush(rows));
    for (size_t i = 0; i < rows->count; i++)
        SH_TRY(take_number(rows, in, i, row));
    if (rows->target != SIZE_MAX)
        SH_TRY(take_label(rows, in, row));
    const sh_cell kind = rows->time == NULL ? SH_CELL_MISSING : sh_cell_read(&time, row->fields[0]);
    if (kind == SH_CELL_NUMBER || kind == SH_CELL_DATE) {
        const double now = kind == SH_CELL_DATE ? time * 86400 : time;
        if (in->times > 0 && now <= in->ended)
            note_disorder(rows, in, row);
        in->ended = now;
        if (in->times++ == 0)
            in->begun = in->ended;
    }
    rows->rows++;
    return SH_OK;
}

/* The texts of a row are valid only until the next row is read. */
static sh_status copy_header(sh_csv_row *header, sh_arena *arena, const sh_csv_row *row)
{
    const char **fields = sh_arena_take(arena, row->count, sizeof *fields);
    for (size_t i = 0; fields != NULL && i < row->count; i++) {
        fields[i] = sh_arena_text(arena, row->fields[i]);
        if (fields[i] == NULL)
            fields = NULL;
    }
    if (fields == NULL)
        return sh_fail_memory(row->count * sizeof *fields, "a header");
    *header = (sh_csv_row){fields, row->count, row->line};
    return SH_OK;
}

static sh_status end_gaps(sh_series_rows *rows, const reading *in)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (!rows->columns[i].known)
            return sh_fail(SH_FORMAT, "%s: column %.64s has no value", in->name,
                           rows->columns[i].name);
        SH_TRY(fill(rows, i, rows->rows, NULL));
    }
    return SH_OK;
}

static sh_status read_rows(sh_series_rows *rows, reading *in, sh_csv *csv, sh_arena *arena)
{
    const sh_csv_row *row;
    sh_csv_row header = {0};
    SH_TRY(sh_csv_next(csv, &row));
    const bool has_header = row != NULL && is_header(row);
    if (has_header) {
        SH_TRY(copy_header(&header, arena, row));
        SH_TRY(sh_csv_next(csv, &row));
    }
    if (row == NULL)
        return sh_fail(SH_FORMAT, "%s: has no row of numbers", in->name);
    SH_TRY(rows->fields == 0 ? set_columns(rows, in->name, has_header ? &header : NULL, row)
                             : check_columns(rows, in->name, has_header ? &header : NULL, row));
    for (size_t i = 0; i < rows->count; i++) {
        rows->columns[i].known = false;
        rows->columns[i].missing = 0;
    }
    while (row != NULL) {
        SH_TRY(take_row(rows, in, row));
        SH_TRY(sh_csv_next(csv, &row));
    }
    return end_gaps(rows, in);
}

sh_status sh_series_rows_add(sh_series_rows *rows, uint64_t *first, uint64_t *count,
                             const char *path, const char *name)
{
    sh_csv *csv;
    sh_arena arena;
    reading in = {.name = name};
    const uint64_t before = rows->rows;
    SH_TRY(sh_csv_open(&csv, path, rows->form.skip_lines));
    sh_arena_init(&arena);
    const sh_status status = read_rows(rows, &in, csv, &arena);
    sh_arena_release(&arena);
    sh_csv_close(csv);
    SH_TRY(status);
    if (before == 0 && in.times > 1)
        rows->interval = (in.ended - in.begun) / (double)(in.times - 1);
    *first = before;
    *count = rows->rows - before;
    return SH_OK;
}

sh_status sh_series_rows_end(sh_series_rows *rows)
{
    SH_TRY(flush(rows));
    free(rows->buffer);
    rows->buffer = NULL;
    return SH_OK;
}

sh_status sh_series_rows_read(const sh_series_rows *rows, uint64_t first, double *numbers,
                              size_t count)
{
    return sh_extent_read_all(rows->fd, first * rows->width * sizeof *numbers, (uint8_t *)numbers,
                              count * rows->width * sizeof *numbers);
}

void sh_series_rows_release(sh_series_rows *rows)
{
    if (rows->fd >= 0)
        close(rows->fd);
    free(rows->buffer);
    sh_arena_release(&rows->arena);
    *rows = (sh_series_rows){.fd = -1};
}
