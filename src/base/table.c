/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct sh_table {
    const char *columns;
    size_t column_count;
    char **cells; /* each owned */
    size_t count, capacity;
    bool failed;
};

sh_table *sh_table_new(const char *columns, const char *const *heads)
{
    sh_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return NULL;
    table->columns = columns;
    table->column_count = strlen(columns);
    for (size_t i = 0; heads != NULL && i < table->column_count; i++)
        sh_table_add(table, heads[i]);
    return table;
}

void sh_table_free(sh_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table);
}

void sh_table_add(sh_table *table, const char *text)
{
    if (table == NULL || table->failed)
        return;
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity > 0 ? 2 * table->capacity : 32;
        char **cells = realloc(table->cells, capacity * sizeof *cells);
        table->failed = cells == NULL;
        if (table->failed)
            return;
        table->cells = cells;
        table->capacity = capacity;
    }
    const size_t bytes = strlen(text) + 1;
    char *cell = malloc(bytes);
    table->failed = cell == NULL;
    if (table->failed)
        return;
    sh_utf8_clean(cell, bytes, text);
    table->cells[table->count++] = cell;
}

void sh_table_format(sh_table *table, const char *format, ...)
{
    char text[SH_TABLE_TEXT_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    sh_table_add(table, text);
}

void sh_table_number(sh_table *table, double number, int decimals)
{
    if (isfinite(number))
        sh_table_format(table, "%.*f", decimals, number);
    else
        sh_table_add(table, "-");
}

/* Characters are as wide as columns in the usual scripts of names. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

bool sh_table_print(sh_table *table, FILE *file, const char *margin)
{
    size_t *widths = NULL;
    if (table != NULL && !table->failed)
        widths = calloc(table->column_count, sizeof *widths);
    if (widths == NULL) {
        sh_table_free(table);
        return false;
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t *widest = &widths[i % table->column_count];
        const size_t width = width_of(table->cells[i]);
        if (width > *widest)
            *widest = width;
    }
    for (size_t i = 0; i < table->count; i++) {
        const size_t column = i % table->column_count;
        const bool last = column + 1 == table->column_count || i + 1 == table->count;
        const bool right = table->columns[column] == '>';
        const int space = (int)(widths[column] - width_of(table->cells[i]));
        fprintf(file, "%s%*s%s%*s%s", column == 0 ? margin : "", right ? space : 0, "",
                table->cells[i], right || last ? 0 : space, "", last ? "\n" : "  ");
    }
    free(widths);
    sh_table_free(table);
    return true;
}

const char *sh_table_cell(const sh_table *table, size_t index)
{
    return table != NULL && index < table->count ? table->cells[index] : NULL;
}
