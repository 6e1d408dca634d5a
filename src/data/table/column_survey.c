/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first row is counted last, unless it is taken as the header.
 */
#include "data/table/column_survey.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *sh_kind_name(sh_kind kind)
{
    static const char *const names[] = {"nothing", "number", "date", "category", "ordinal"};
    return names[kind];
}

uint64_t sh_column_present(const sh_column *column)
{
    uint64_t present = 0;
    for (int cell = 0; cell < SH_CELLS; cell++)
        present += cell == SH_CELL_MISSING ? 0 : column->counts[cell];
    return present;
}

sh_kind sh_column_kind(const sh_column *column)
{
    const uint64_t present = sh_column_present(column);
    if (present == 0)
        return SH_KIND_NOTHING;
    if (column->counts[SH_CELL_DATE] == present)
        return SH_KIND_DATE;
    return column->counts[SH_CELL_WORD] + column->counts[SH_CELL_DATE] == 0 ? SH_KIND_NUMBER
                                                                            : SH_KIND_CATEGORY;
}

bool sh_survey_find(uint32_t *column, const sh_survey *survey, const char *name)
{
    double number;
    for (size_t i = 0; i < survey->count; i++)
        if (strcmp(survey->columns[i].name, name) == 0) {
            *column = (uint32_t)i;
            return true;
        }
    if (sh_cell_read(&number, name) != SH_CELL_NUMBER || number != floor(number) || number < 1 ||
        number > (double)survey->count)
        return false;
    *column = (uint32_t)number - 1;
    return true;
}

bool sh_survey_next_name(char name[SH_CELL_NAME_BYTES], const char **list)
{
    if (*list == NULL)
        return false;
    const size_t length = strcspn(*list, ","), fits = SH_CELL_NAME_BYTES - 1;
    const size_t taken = length < fits ? length : fits;
    memcpy(name, *list, taken);
    name[taken] = '\0';
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

/* --- counting --- */

static sh_status add_cell(sh_column *column, const char *text, uint64_t line)
{
    char name[SH_CELL_NAME_BYTES];
    double value;
    uint32_t number;
    const sh_cell cell = sh_cell_read(&value, text);
    if (column->counts[cell]++ == 0 || line < column->lines[cell])
        column->lines[cell] = line;
    if (cell == SH_CELL_MISSING)
        return SH_OK;
    if (cell == SH_CELL_NUMBER) {
        column->whole += value == floor(value);
        column->steps += column->counts[cell] > 1 && value == column->last + 1;
        column->last = value;
    }
    if (column->many && (cell != SH_CELL_WORD || column->odd != NULL))
        return SH_OK;
    sh_cell_name(name, text);
    if (cell == SH_CELL_WORD && column->odd == NULL) {
        column->odd = strdup(name);
        if (column->odd == NULL)
            return sh_fail_memory(strlen(name), "a word of a table");
    }
    if (column->many)
        return SH_OK;
    SH_TRY(sh_vocabulary_add(&column->words, &number, name));
    if (column->words.count > column->words_most) {
        column->many = true;
        sh_vocabulary_release(&column->words);
    }
    return SH_OK;
}

static sh_status add_row(sh_survey *survey, const char *const *fields, uint64_t line)
{
    for (size_t i = 0; i < survey->count; i++)
        SH_TRY(add_cell(&survey->columns[i], fields[i], line));
    survey->rows++;
    return SH_OK;
}

/* --- the first row --- */

static sh_status name_column(sh_column *column, const char *name, size_t index)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", index + 1);
    char *copy = strdup(name[0] == '\0' ? number : name);
    if (copy == NULL)
        return sh_fail_memory(strlen(name) + 1, "the name of a column");
    free(column->name);
    column->name = copy;
    return SH_OK;
}

static sh_status begin(sh_survey *survey, const sh_csv_row *row, const char *target)
{
    char name[SH_CELL_NAME_BYTES];
    uint32_t column;
    survey->columns = calloc(row->count, sizeof *survey->columns);
    if (survey->columns == NULL)
        return sh_fail_memory(row->count * sizeof *survey->columns, "the columns of a table");
    const size_t share = SH_SURVEY_WORDS / row->count;
    const uint32_t most = share < SH_CATEGORIES_MOST + 1 ? SH_CATEGORIES_MOST + 1
                          : share > SH_COLUMN_WORDS      ? SH_COLUMN_WORDS
                                                         : (uint32_t)share;
    survey->count = row->count;
    survey->first_line = row->line;
    for (size_t i = 0; i < row->count; i++) {
        survey->columns[i].words_most = most;
        SH_TRY(name_column(&survey->columns[i], sh_cell_name(name, row->fields[i]), i));
    }
    if (target == NULL || target[0] == '\0') {
        survey->columns[row->count - 1].words_most = SH_COLUMN_CLASSES;
        return SH_OK;
    }
    if (sh_survey_find(&column, survey, target))
        survey->columns[column].words_most = SH_COLUMN_CLASSES;
    while (sh_survey_next_name(name, &target))
        if (sh_survey_find(&column, survey, name))
            survey->columns[column].words_most = SH_COLUMN_CLASSES;
    return SH_OK;
}

static bool all_differ(char *const *fields, size_t count, sh_status *status)
{
    sh_vocabulary words = {0};
    uint32_t number;
    *status = SH_OK;
    for (size_t i = 0; i < count && *status == SH_OK; i++)
        *status = sh_vocabulary_add(&words, &number, fields[i]);
    const bool differ = words.count == count;
    sh_vocabulary_release(&words);
    return differ;
}

static sh_status find_header(sh_survey *survey, char *const *fields)
{
    size_t typed = 0, above = 0, words = 0, below = 0;
    for (size_t i = 0; i < survey->count; i++) {
        double value;
        uint32_t number;
        char name[SH_CELL_NAME_BYTES];
        const sh_column *column = &survey->columns[i];
        const sh_kind kind = sh_column_kind(column);
        const bool is_word = sh_cell_read(&value, fields[i]) == SH_CELL_WORD;
        typed += kind == SH_KIND_NUMBER || kind == SH_KIND_DATE;
        above += is_word && (kind == SH_KIND_NUMBER || kind == SH_KIND_DATE);
        words += is_word;
        below += sh_vocabulary_find(&column->words, &number, sh_cell_name(name, fields[i]));
    }
    survey->header = 2 * above > typed;
    if (typed == 0 && words == survey->count && below == 0 && survey->rows > 0) {
        sh_status status;
        survey->header = all_differ(fields, survey->count, &status);
        SH_TRY(status);
    }
    return SH_OK;
}

static void free_fields(char **fields, size_t count)
{
    for (size_t i = 0; fields != NULL && i < count; i++)
        free(fields[i]);
    free(fields);
}

static sh_status copy_fields(char ***copies, const sh_csv_row *row)
{
    char **fresh = calloc(row->count, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(row->count * sizeof *fresh, "the first row of a table");
    for (size_t i = 0; i < row->count; i++) {
        fresh[i] = strdup(row->fields[i]);
        if (fresh[i] == NULL) {
            free_fields(fresh, row->count);
            return sh_fail_memory(strlen(row->fields[i]), "the first row of a table");
        }
    }
    *copies = fresh;
    return SH_OK;
}

static sh_status complete(sh_survey *survey, char *const *first)
{
    SH_TRY(find_header(survey, first));
    if (!survey->header) {
        SH_TRY(add_row(survey, (const char *const *)first, survey->first_line));
        for (size_t i = 0; i < survey->count; i++)
            SH_TRY(name_column(&survey->columns[i], "", i));
    }
    for (size_t i = 0; i < survey->count; i++)
        SH_TRY(sh_vocabulary_sort(&survey->columns[i].words));
    return SH_OK;
}

static bool is_all_words(char *const *fields, size_t count)
{
    double value;
    for (size_t i = 0; i < count; i++)
        if (sh_cell_read(&value, fields[i]) != SH_CELL_WORD)
            return false;
    return true;
}

sh_status sh_survey_make(sh_survey *survey, sh_csv *csv, const char *target)
{
    sh_survey fresh = {0};
    const sh_csv_row *row;
    char **first = NULL;
    sh_status status = sh_csv_next(csv, &row);
    if (status != SH_OK)
        return status;
    if (row == NULL)
        return sh_fail(SH_FORMAT, "%s: holds no row", sh_csv_path(csv));
    const size_t count = row->count;
    SH_TRY_DONE(copy_fields(&first, row));
    SH_TRY_DONE(begin(&fresh, row, target));
    for (;;) {
        SH_TRY_DONE(sh_csv_next(csv, &row));
        if (row == NULL)
            break;
        SH_TRY_DONE(add_row(&fresh, row->fields, row->line));
    }
    if (fresh.rows == 0) {
        status =
            is_all_words(first, fresh.count)
                ? sh_fail(SH_FORMAT, "%s: has a header in line %" PRIu64 " and no row below it",
                          sh_csv_path(csv), fresh.first_line)
                : sh_fail(SH_FORMAT, "%s: has only one row, in line %" PRIu64, sh_csv_path(csv),
                          fresh.first_line);
        goto done;
    }
    SH_TRY_DONE(complete(&fresh, first));
    *survey = fresh;
    fresh = (sh_survey){0};
done:
    free_fields(first, count);
    sh_survey_release(&fresh);
    return status;
}

void sh_survey_release(sh_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        sh_vocabulary_release(&survey->columns[i].words);
        free(survey->columns[i].name);
        free(survey->columns[i].odd);
    }
    free(survey->columns);
    *survey = (sh_survey){0};
}
