/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text, and how it is printed: columns as wide as their widest cell, two spaces between
 * them.
 *
 *     sh_table *table = sh_table_new("<>", (const char *const[]){"device", "seconds"});
 *     sh_table_add(table, device->name);
 *     sh_table_number(table, device->seconds, 2);
 *     sh_table_print(table, stdout, "");                     // frees it
 *
 * Where memory is out, sh_table_new returns NULL or cells are missing: then nothing is printed, and
 * sh_table_print returns false. All functions take NULL.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BASE_TABLE_H
#define SHOAL_BASE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct sh_table sh_table;

/* One letter for each column: '<' left, '>' right; borrowed until the table is freed. The first row
 * is `heads`, one for each column; NULL: there are none. */
sh_table *sh_table_new(const char *columns, const char *const *heads);
void sh_table_free(sh_table *table);

/* The next cell, row by row. Copied; unprintable characters are replaced. */
void sh_table_add(sh_table *table, const char *text);

/* The same of a text that is printed; longer ones are cut. */
#define SH_TABLE_TEXT_BYTES 512
void sh_table_format(sh_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "-" for what is not finite. */
void sh_table_number(sh_table *table, double number, int decimals);

/* Prints each row on a line of its own, behind `margin`, and frees the table. */
bool sh_table_print(sh_table *table, FILE *file, const char *margin);

/* For other ways to print: the cell of that index, counted row by row from 0; NULL behind the last.
 * Borrowed until the next is added. */
const char *sh_table_cell(const sh_table *table, size_t index);

#endif
