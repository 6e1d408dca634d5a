/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

#include <string.h>

#include "base/utf8.h"

void sh_escape(FILE *file, sh_report_format format, const char *text)
{
    size_t bytes;
    for (; *text != '\0'; text += bytes) {
        uint32_t point;
        bytes = sh_utf8_read((const unsigned char *)text, &point);
        if (bytes == 0 || sh_utf8_is_control(point)) {
            fputc('?', file);
            bytes = bytes == 0 ? 1 : bytes;
        } else if (format == SH_REPORT_html && strchr("&<>\"'", *text) != NULL) {
            fprintf(file, "&#%d;", *text);
        } else {
            if (format == SH_REPORT_markdown && strchr("\\`*_[]<>|&#~", *text) != NULL)
                fputc('\\', file);
            fwrite(text, 1, bytes, file);
        }
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

/* Without memory, cells are missing, but the stream has failed too. */
void sh_sheet_cell(sh_sheet *sheet, const char *text)
{
    sh_table_add(sheet->table, text);
}

void sh_sheet_number(sh_sheet *sheet, double value, sh_unit unit)
{
    sh_table_add(sheet->table, sh_quantity_of(&(sh_quantity){0}, value, unit));
}

void sh_sheet_table(sh_sheet *sheet, const char *caption, const char *columns,
                    const char *const *heads)
{
    sheet->columns = columns;
    sheet->table = sh_table_new(columns, heads);
    if (sheet->format == SH_REPORT_html) {
        fputs("<div class=\"box\" tabindex=\"0\"><table><caption>", sheet->file);
        sh_escape(sheet->file, sheet->format, caption);
        fputs("</caption>\n", sheet->file);
    } else
        sh_sheet_paragraph(sheet, caption);
}

void sh_sheet_end(sh_sheet *sheet)
{
    const size_t columns = strlen(sheet->columns);
    FILE *file = sheet->file;
    const bool page = sheet->format == SH_REPORT_html, plain = sheet->format == SH_REPORT_text;
    const char *cell;
    for (size_t i = 0; !plain && (cell = sh_table_cell(sheet->table, i)) != NULL; i++) {
        const size_t row = i / columns, column = i % columns;
        const bool last = column + 1 == columns;
        if (page) {
            const char *kind = row == 0 || column == 0 ? "th" : "td";
            const char *scope = row == 0 ? " scope=\"col\"" : column == 0 ? " scope=\"row\"" : "";
            fprintf(file, "%s<%s%s%s>", column == 0 ? "<tr>" : "", kind, scope,
                    sheet->columns[column] == '>' ? " class=\"n\"" : "");
            sh_escape(file, sheet->format, cell);
            fprintf(file, "</%s>%s", kind, last ? "</tr>\n" : "");
            continue;
        }
        fputs(column == 0 ? "| " : " | ", file);
        sh_escape(file, sheet->format, cell);
        fputs(last ? " |\n" : "", file);
        for (size_t j = 0; last && row == 0 && j < columns; j++)
            fprintf(file, "|%s%s", sheet->columns[j] == '>' ? "--:" : "---",
                    j + 1 == columns ? "|\n" : "");
    }
    if (plain)
        (void)sh_table_print(sheet->table, file, "");
    else
        sh_table_free(sheet->table);
    fputs(page ? "</table></div>\n" : "\n", file);
    *sheet = (sh_sheet){.file = file, .format = sheet->format};
}
