/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes headings, paragraphs and tables as plain text, Markdown or HTML.
 *
 *     sh_sheet sheet = {.file = file, .format = SH_REPORT_markdown};
 *     sh_sheet_table(&sheet, "What devices did", "<>", (const char *const[]){"device", "grains"});
 *     sh_sheet_cell(&sheet, device->name);
 *     sh_sheet_end(&sheet);
 *
 * Escapes all text. Check ferror(file) at the end.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_REPORT_SHEET_H
#define SHOAL_REPORT_SHEET_H

#include <stdio.h>

#include "base/quantity.h"
#include "base/table.h"
#include "shoal/report.h"

typedef struct sh_sheet {
    FILE *file;              /* borrowed */
    sh_report_format format; /* not json */
    /* The current table: */
    const char *columns;
    sh_table *table; /* owned */
} sh_sheet;

/* Level 1 is the title. */
void sh_sheet_heading(sh_sheet *sheet, int level, const char *text);
void sh_sheet_paragraph(sh_sheet *sheet, const char *text);

/* `columns` has '<' (left) or '>' (right) for each of `heads`; borrowed until the end. Cells follow
 * row by row; the first names its row. */
void sh_sheet_table(sh_sheet *sheet, const char *caption, const char *columns,
                    const char *const *heads);
void sh_sheet_cell(sh_sheet *sheet, const char *text); /* copied */
void sh_sheet_number(sh_sheet *sheet, double value, sh_unit unit);
void sh_sheet_end(sh_sheet *sheet);

/* Escapes for HTML (also in quotes) or Markdown. Control characters become '?' (base/utf8.h). */
void sh_escape(FILE *file, sh_report_format format, const char *text);

#endif
