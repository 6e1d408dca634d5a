/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headings, paragraphs and tables, written as plain text, Markdown or HTML.
 *
 *     sh_sheet sheet = {.file = file, .format = SH_REPORT_markdown};
 *     sh_sheet_heading(&sheet, 2, "Devices");
 *     sh_sheet_table(&sheet, "What devices did", "<>", (const char *const[]){"device", "grains"});
 *     sh_sheet_cell(&sheet, device->name);
 *     sh_sheet_number(&sheet, device->grains, SH_UNIT_whole);
 *     sh_sheet_end(&sheet);
 *
 * Text from outside is escaped here, and nowhere else. What fails (memory) shows in ferror(file)
 * when all is written.
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
    /* The table that has begun: */
    const char *columns;
    sh_table *table; /* owned */
} sh_sheet;

/* Level 1 is the title. */
void sh_sheet_heading(sh_sheet *sheet, int level, const char *text);
void sh_sheet_paragraph(sh_sheet *sheet, const char *text);

/* `columns` has a letter for each column, '<' left or '>' right, as many as `heads`; it is borrowed
 * until the end. Cells follow row by row; the first of a row is its name. */
void sh_sheet_table(sh_sheet *sheet, const char *caption, const char *columns,
                    const char *const *heads);
void sh_sheet_cell(sh_sheet *sheet, const char *text); /* copied */
void sh_sheet_number(sh_sheet *sheet, double value, sh_unit unit);
void sh_sheet_end(sh_sheet *sheet);

/* Text so that it means itself: in HTML (also within quotes), in Markdown. Control characters, also
 * those that turn the direction of text, become '?' (base/utf8.h). */
void sh_escape(FILE *file, sh_report_format format, const char *text);

#endif
