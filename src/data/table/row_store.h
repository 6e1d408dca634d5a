/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores rows of numbers: in memory up to SH_ROW_STORE_MEMORY bytes, beyond that in a temporary
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
 * Threads: caller locks until sh_row_store_end; then any for reading.
 */
#ifndef SHOAL_DATA_TABLE_ROW_STORE_H
#define SHOAL_DATA_TABLE_ROW_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_ROW_STORE_MEMORY (8u << 20)

typedef struct sh_row_store sh_row_store;

/* Makes a store for at most `rows` rows of `columns` numbers, both at least 1. Owned. Fails with
 * SH_NO_MEMORY, and if no temporary file can be made. */
sh_status sh_row_store_new(sh_row_store **store, size_t columns, size_t rows) SHOAL_CHECKED;

/* Copies row[columns]. At most `rows` can be added. */
sh_status sh_row_store_add(sh_row_store *store, const double *row) SHOAL_CHECKED;

/* Must be called after the last row and before reading. */
sh_status sh_row_store_end(sh_row_store *store) SHOAL_CHECKED;

/* Row `index` must have been added. */
sh_status sh_row_store_read(const sh_row_store *store, size_t index, double *row) SHOAL_CHECKED;

/* Copies columns first .. first + count - 1 of all rows to values[count][rows added]. Each call
 * reads all rows, so one for several columns is faster. */
sh_status sh_row_store_columns(const sh_row_store *store, size_t first, size_t count,
                               double *values) SHOAL_CHECKED;

void sh_row_store_free(sh_row_store *store);

#endif
