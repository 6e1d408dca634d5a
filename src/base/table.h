/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of text, and how it is printed: columns as wide as their widest cell, two spaces between
 * them.
 *
 *     sh_table *table = sh_table_new("<>");                  // left, right
 *     sh_table_add(table, "device");
 *     sh_table_add(table, "grains");
 *     sh_table_print(table, stdout, "");
 *     sh_table_free(table);
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

/* One letter for each column: '<' left, '>' right; borrowed until the table is freed. */
sh_table *sh_table_new(const char *columns);
void sh_table_free(sh_table *table);

/* The next cell, row by row. Copied; unprintable characters are replaced. */
void sh_table_add(sh_table *table, const char *text);

/* Each row on a line of its own, behind `margin`. */
bool sh_table_print(const sh_table *table, FILE *file, const char *margin);

/* For other ways to print: the cell of that index, counted row by row from 0; NULL behind the last.
 * Borrowed until the next is added. */
const char *sh_table_cell(const sh_table *table, size_t index);

#endif
