/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads new rows for a model trained with a table. With a header, columns are found by name;
 * without one, they must be at the positions of the training table. The first row is data if every
 * input can be read at its position and at least one is a number, a date or a known word.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/file_reader.h"
#include "data/table/cell.h"
#include "data/table/column_transform.h"
#include "data/table/csv.h"
#include "data/table/notes.h"

typedef struct table_reader {
    sh_file_reader base;
    uint32_t skip_lines;
    sh_column_transform *inputs; /* `column`: position in the training table, from 0; owned */
    uint32_t *columns;           /* of each input in the open file; owned */
    uint32_t count;
    bool numbered;           /* no header in training: names are numbers */
    const char *target;      /* the target column, or ""; borrowed from the trained model */
    uint32_t target_at;      /* in the open file, or UINT32_MAX */
    sh_csv *csv;             /* owned */
    const sh_csv_row *first; /* if it is data and not yet returned, otherwise NULL */
} table_reader;

static bool ends_in(const char *name, const char *ending)
{
    const size_t length = strlen(name), bytes = strlen(ending);
    return length > bytes && strcmp(name + length - bytes, ending) == 0;
}

static bool table_is_named(const char *name)
{
    return ends_in(name, ".csv") || ends_in(name, ".tsv") || ends_in(name, ".csv.gz");
}

/* --- the first row --- */

/* True if each input can be read at its position in the training table. */
static bool is_data(const table_reader *t, const sh_csv_row *row)
{
    bool says = false;
    for (uint32_t i = 0; i < t->count; i++) {
        double value;
        const sh_column_transform *input = &t->inputs[i];
        if (input->column >= row->count ||
            sh_column_transform_value(input, &value, row->fields[input->column]) != SH_OK)
            return false;
        says |= !isnan(value) && (input->kind != SH_KIND_CATEGORY || value >= 0);
    }
    return says;
}

static bool find(uint32_t *column, const sh_csv_row *header, const char *name)
{
    char field[SH_CELL_NAME_BYTES];
    for (size_t i = 0; i < header->count; i++)
        if (strcmp(sh_cell_name(field, header->fields[i]), name) == 0) {
            *column = (uint32_t)i;
            return true;
        }
    return false;
}

static sh_status read_header(table_reader *t, const sh_csv_row *row, uint32_t *found)
{
    sh_names missing = {0};
    *found = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const bool there = find(&t->columns[i], row, t->inputs[i].name);
        *found += there;
        if (!there)
            sh_names_add(&missing, "%s", t->inputs[i].name);
    }
    if (t->target[0] == '\0' || !find(&t->target_at, row, t->target))
        t->target_at = UINT32_MAX;
    if (*found == t->count)
        return SH_OK;
    return sh_fail(SH_NOT_FOUND,
                   "%s: line %" PRIu64 ": columns that the run was trained with are missing: %s",
                   sh_csv_path(t->csv), row->line, sh_names_end(&missing));
}

static void take_places(table_reader *t, const sh_csv_row *row)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->columns[i] = t->inputs[i].column;
    t->target_at = UINT32_MAX;
    t->first = row;
}

static sh_status look_at_first(table_reader *t)
{
    const sh_csv_row *row;
    uint32_t found;
    SH_TRY(sh_csv_next(t->csv, &row));
    t->first = NULL;
    if (row == NULL)
        return sh_fail(SH_FORMAT, "%s: holds no row", sh_csv_path(t->csv));
    const bool data = is_data(t, row);
    if (t->numbered) { /* the header does not matter */
        take_places(t, data ? row : NULL);
        return SH_OK;
    }
    const sh_status status = read_header(t, row, &found);
    if (status == SH_OK || found > 0 || !data)
        return status;
    take_places(t, row);
    return SH_OK;
}

/* --- rows --- */

static sh_status read_row(const table_reader *t, const sh_csv_row *row, float *sample)
{
    for (uint32_t i = 0; i < t->count; i++) {
        double value;
        const sh_column_transform *input = &t->inputs[i];
        if (t->columns[i] >= row->count)
            return sh_fail(SH_FORMAT,
                           "%s: line %" PRIu64 " has %zu fields, but the column '%s' was number %u "
                           "in the training; write a header, which names the columns",
                           sh_csv_path(t->csv), row->line, row->count, input->name,
                           t->columns[i] + 1);
        if (sh_column_transform_value(input, &value, row->fields[t->columns[i]]) != SH_OK)
            return sh_fail_in(SH_FORMAT, "%s: line %" PRIu64, sh_csv_path(t->csv), row->line);
        if (!sh_column_transform_apply(input, sample, value))
            return sh_fail(SH_CORRUPT,
                           "%s: line %" PRIu64
                           ": %g in the column '%s' is too far from those of the training",
                           sh_csv_path(t->csv), row->line, value, input->name);
        sample += input->outputs;
    }
    return SH_OK;
}

static sh_status table_next(sh_file_reader *reader, void *sample, sh_file_reader_place *place,
                            bool *more)
{
    table_reader *t = (table_reader *)(void *)reader;
    const sh_csv_row *row = t->first;
    t->first = NULL;
    *more = false;
    if (row == NULL) {
        const sh_status status = sh_csv_next(t->csv, &row);
        *more = status != SH_OK && sh_csv_goes_on(t->csv);
        SH_TRY(status);
    }
    if (row == NULL)
        return SH_OK;
    *more = true;
    snprintf(place->where, sizeof place->where, "line %" PRIu64, row->line);
    if (t->target_at < row->count)
        (void)sh_cell_name(place->target, row->fields[t->target_at]);
    return read_row(t, row, sample);
}

static sh_status table_begin(sh_file_reader *reader, const char *path, int fd)
{
    table_reader *t = (table_reader *)(void *)reader;
    SH_TRY(fd >= 0 ? sh_csv_open_stream(&t->csv, fd, path)
                   : sh_csv_open(&t->csv, path, t->skip_lines));
    const sh_status status = look_at_first(t);
    if (status == SH_OK)
        return SH_OK;
    sh_csv_close(t->csv);
    t->csv = NULL;
    return status;
}

static void table_end(sh_file_reader *reader)
{
    table_reader *t = (table_reader *)(void *)reader;
    sh_csv_close(t->csv);
    t->csv = NULL;
}

static void table_free(sh_file_reader *reader)
{
    table_reader *t = (table_reader *)(void *)reader;
    for (uint32_t i = 0; i < t->count; i++)
        sh_column_transform_release(&t->inputs[i]);
    free(t->inputs);
    free(t->columns);
    free(t);
}

/* --- the trained model --- */

static sh_status take_inputs(table_reader *t, const sh_trained *trained)
{
    const json_t *inputs = json_object_get(trained->about, "inputs");
    const size_t count = json_array_size(inputs);
    uint64_t width = 0;
    char number[16];
    if (count == 0 || count > SH_CSV_FIELDS_MOST)
        return sh_file_reader_malformed();
    t->inputs = calloc(count, sizeof *t->inputs);
    t->columns = calloc(count, sizeof *t->columns);
    if (t->inputs == NULL || t->columns == NULL)
        return sh_fail_memory(count * sizeof *t->inputs, "inputs");
    t->numbered = true;
    for (size_t i = 0; i < count; i++) {
        sh_column_transform *input = &t->inputs[i];
        SH_TRY(sh_column_transform_parse(input, json_array_get(inputs, i)));
        t->count++;
        width += input->outputs;
        snprintf(number, sizeof number, "%" PRIu32, input->column + 1);
        t->numbered &= strcmp(number, input->name) == 0;
    }
    return width == sh_dataset_elements(&trained->info) && trained->info.element == SH_ELEMENT_FLOAT
               ? SH_OK
               : sh_file_reader_malformed();
}

sh_status sh_table_reader(sh_file_reader **reader, const sh_trained *trained,
                          const sh_read_options *options)
{
    static const sh_file_reader_ops ops = {.files = "tables",
                                           .streams = true,
                                           .is_named = table_is_named,
                                           .begin = table_begin,
                                           .next = table_next,
                                           .end = table_end,
                                           .free = table_free};
    table_reader *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a reader of tables");
    const char *target = json_string_value(json_object_get(trained->about, "target"));
    const json_t *targets = json_object_get(trained->about, "targets");
    if (target == NULL && json_array_size(targets) == 1)
        target = json_string_value(json_object_get(json_array_get(targets, 0), "name"));
    fresh->base.ops = &ops;
    fresh->skip_lines = options->skip_lines;
    fresh->target = target == NULL ? "" : target;
    const sh_status status = take_inputs(fresh, trained);
    if (status != SH_OK) {
        table_free(&fresh->base);
        return status;
    }
    *reader = &fresh->base;
    return SH_OK;
}
