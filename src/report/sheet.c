/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static void escape_json(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        const unsigned char letter = (unsigned char)*text;
        if (letter < 0x20 || strchr("\"\\<>&", *text) != NULL)
            fprintf(file, "\\u%04x", letter);
        else
            fputc(letter, file);
    }
    fputc('"', file);
}

void sh_escape(FILE *file, sh_report_format format, const char *text)
{
    if (format == SH_REPORT_json) {
        escape_json(file, text);
        return;
    }
    for (; *text != '\0'; text++) {
        if (format == SH_REPORT_html && strchr("&<>\"'", *text) != NULL) {
            fprintf(file, "&#%d;", *text);
            continue;
        }
        if (format == SH_REPORT_markdown && strchr("\\`*_[]<>|&#~", *text) != NULL)
            fputc('\\', file);
        fputc(*text, file);
    }
}

void sh_sheet_heading(sh_sheet *sheet, int level, const char *text)
{
    if (sheet->format == SH_REPORT_html)
        fprintf(sheet->file, "<h%d>", level);
    else if (sheet->format == SH_REPORT_markdown)
        fprintf(sheet->file, "\n%.*s ", level, "####");
    else
        fputc('\n', sheet->file);
    sh_escape(sheet->file, sheet->format, text);
    if (sheet->format == SH_REPORT_html)
        fprintf(sheet->file, "</h%d>", level);
    fputs(sheet->format == SH_REPORT_markdown ? "\n\n" : "\n", sheet->file);
}

void sh_sheet_paragraph(sh_sheet *sheet, const char *text)
{
    const bool page = sheet->format == SH_REPORT_html;
    fputs(page ? "<p>" : "", sheet->file);
    sh_escape(sheet->file, sheet->format, text);
    fputs(page ? "</p>\n" : sheet->format == SH_REPORT_markdown ? "\n\n" : "\n", sheet->file);
}

void sh_sheet_cell(sh_sheet *sheet, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    /* Without memory cells are missing; the stream, which is in memory too, will have failed. */
    if (sh_array_grow((void **)&sheet->cells, &sheet->capacity, sheet->bytes + bytes, 1) != SH_OK)
        return;
    memcpy(sheet->cells + sheet->bytes, text, bytes);
    sheet->bytes += bytes;
    sheet->count++;
}

void sh_sheet_number(sh_sheet *sheet, double value, sh_unit unit)
{
    char text[SH_QUANTITY_BYTES];
    sh_sheet_cell(sheet, sh_quantity(text, value, unit));
}

void sh_sheet_table(sh_sheet *sheet, const char *caption, const char *columns,
                    const char *const *heads)
{
    sheet->columns = columns;
    if (sheet->format == SH_REPORT_html) {
        fputs("<div class=\"box\" tabindex=\"0\"><table><caption>", sheet->file);
        sh_escape(sheet->file, sheet->format, caption);
        fputs("</caption>\n", sheet->file);
    } else
        sh_sheet_paragraph(sheet, caption);
    for (size_t i = 0; columns[i] != '\0'; i++)
        sh_sheet_cell(sheet, heads[i]);
}

/* Characters, which is columns for the scripts that names are usually written in. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void write_html(const sh_sheet *sheet, const char *cell, size_t row, size_t column)
{
    const char *kind = row == 0 || column == 0 ? "th" : "td";
    fprintf(sheet->file, "%s<%s%s%s>", column == 0 ? "<tr>" : "", kind,
            row == 0      ? " scope=\"col\""
            : column == 0 ? " scope=\"row\""
                          : "",
            sheet->columns[column] == '>' ? " class=\"n\"" : "");
    sh_escape(sheet->file, sheet->format, cell);
    fprintf(sheet->file, "</%s>%s", kind, sheet->columns[column + 1] == '\0' ? "</tr>\n" : "");
}

static void write_markdown(const sh_sheet *sheet, const char *cell, size_t row, size_t column)
{
    fputs(column == 0 ? "| " : " | ", sheet->file);
    sh_escape(sheet->file, sheet->format, cell);
    if (sheet->columns[column + 1] != '\0')
        return;
    fputs(" |\n", sheet->file);
    for (size_t i = 0; row == 0 && i <= column; i++)
        fprintf(sheet->file, "|%s%s", sheet->columns[i] == '>' ? "--:" : "---",
                i == column ? "|\n" : "");
}

static void write_text(const sh_sheet *sheet, const char *cell, size_t column, int width)
{
    const bool last = sheet->columns[column + 1] == '\0', right = sheet->columns[column] == '>';
    const int space = width - width_of(cell);
    fprintf(sheet->file, "%*s%s%*s", right ? space : 0, "", cell, right || last ? 0 : space, "");
    fputs(last ? "\n" : "  ", sheet->file);
}

void sh_sheet_end(sh_sheet *sheet)
{
    enum { COLUMNS_MAX = 32 };
    int widths[COLUMNS_MAX] = {0};
    const size_t columns = strlen(sheet->columns);
    const char *cell = sheet->cells;
    for (size_t i = 0; i < sheet->count; i++, cell += strlen(cell) + 1) {
        int *width = &widths[i % columns % COLUMNS_MAX];
        *width = width_of(cell) > *width ? width_of(cell) : *width;
    }
    cell = sheet->cells;
    for (size_t i = 0; i < sheet->count; i++, cell += strlen(cell) + 1) {
        if (sheet->format == SH_REPORT_html)
            write_html(sheet, cell, i / columns, i % columns);
        else if (sheet->format == SH_REPORT_markdown)
            write_markdown(sheet, cell, i / columns, i % columns);
        else
            write_text(sheet, cell, i % columns, widths[i % columns % COLUMNS_MAX]);
    }
    fputs(sheet->format == SH_REPORT_html ? "</table></div>\n" : "\n", sheet->file);
    free(sheet->cells);
    *sheet = (sh_sheet){.file = sheet->file, .format = sheet->format};
}
