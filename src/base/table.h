/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a table of text: columns as wide as their widest cell, two spaces between them.
 *
 *     sh_table *table = sh_table_new("<>", (const char *const[]){"device", "seconds"});
 *     sh_table_add(table, device->name);
 *     sh_table_number(table, device->seconds, 2);
 *     sh_table_print(table, stdout, "");                     // frees it
 *
 * Without memory, sh_table_print prints nothing and returns false. All functions accept NULL.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BASE_TABLE_H
#define SHOAL_BASE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct sh_table sh_table;

/* `columns` has '<' (left) or '>' (right) for each; borrowed until the table is freed. `heads` is
 * the first row; NULL: none. */
sh_table *sh_table_new(const char *columns, const char *const *heads);
void sh_table_free(sh_table *table);

/* The next cell, row by row. Copied; unprintable characters are replaced. */
void sh_table_add(sh_table *table, const char *text);

/* Longer text is cut. */
#define SH_TABLE_TEXT_BYTES 512
void sh_table_format(sh_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "-" if the number is not finite. */
void sh_table_number(sh_table *table, double number, int decimals);

/* Prints one row per line, each after `margin`, and frees the table. */
bool sh_table_print(sh_table *table, FILE *file, const char *margin);

/* Cell `index`, row by row from 0; NULL past the last. Borrowed until the next cell is added. */
const char *sh_table_cell(const sh_table *table, size_t index);

#endif
