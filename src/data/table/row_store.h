/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of numbers that may be more than fit into memory: few stay there, many go to a temporary
 * file.
 *
 *     sh_row_store *store;
 *     SH_TRY(sh_row_store_new(&store, columns, rows));
 *     SH_TRY(sh_row_store_add(store, row));                     // for each row
 *     SH_TRY(sh_row_store_end(store));
 *     SH_TRY(sh_row_store_read(store, 41, row));
 *     SH_TRY(sh_row_store_columns(store, 2, 1, values));        // values[rows] of column 2
 *     sh_row_store_free(store);
 *
 * Threads: after sh_row_store_end any, several at once; before, one.
 */
#ifndef SHOAL_DATA_TABLE_ROW_STORE_H
#define SHOAL_DATA_TABLE_ROW_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Bytes that stay in memory. */
#define SH_ROW_STORE_MEMORY (8u << 20)

typedef struct sh_row_store sh_row_store;

/* For at most `rows` rows of `columns` numbers, both at least 1. Owned. SH_NO_MEMORY, or why no
 * temporary file can be made. */
sh_status sh_row_store_new(sh_row_store **store, size_t columns, size_t rows) SHOAL_CHECKED;

/* Adds a copy of row[columns]; there is room for it. */
sh_status sh_row_store_add(sh_row_store *store, const double *row) SHOAL_CHECKED;

/* After the last row. */
sh_status sh_row_store_end(sh_row_store *store) SHOAL_CHECKED;

/* Copies row number `index`, which was added, to row[columns]. */
sh_status sh_row_store_read(const sh_row_store *store, size_t index, double *row) SHOAL_CHECKED;

/* Copies columns first .. first + count - 1 of all rows that were added to values[count][rows
 * added]. Reads all rows, so it is better called once for several columns. */
sh_status sh_row_store_columns(const sh_row_store *store, size_t first, size_t count,
                               double *values) SHOAL_CHECKED;

/* NULL is fine. */
void sh_row_store_free(sh_row_store *store);

#endif
