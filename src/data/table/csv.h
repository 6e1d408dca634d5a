/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of separated values, plain or .gz, read row by row.
 *
 *     sh_csv *csv;
 *     const sh_csv_row *row;
 *     SH_TRY(sh_csv_open(&csv, "/data/wine.csv", 0));
 *     while ((status = sh_csv_next(csv, &row)) == SH_OK && row != NULL)
 *         use(row->fields, row->count, row->line);
 *     sh_csv_close(csv);
 *
 * The separator is found by the first lines: a tab, ';', '|', ',' or blanks, a run of which counts
 * once. A field may stand in double quotes; two of them inside mean one. Lines end with LF, CR LF
 * or CR. A byte order mark is skipped, and so are blank lines. Blanks around a field that is not in
 * quotes belong to no field. The header, where there is one, is a row like the others.
 *
 * The rows are read again after sh_csv_rewind, from the same open file.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_CSV_H
#define SHOAL_DATA_TABLE_CSV_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/fail.h"

typedef struct sh_csv sh_csv;

#define SH_CSV_FIELDS_MOST 100000         /* of a row */
#define SH_CSV_FIELD_MOST (1u << 20)      /* bytes of a field */
#define SH_CSV_ROW_MOST (1u << 26)        /* bytes of a row */
#define SH_CSV_ROWS_MOST (1u << 30)       /* of a file */
#define SH_CSV_UNPACKED_MOST (1ull << 36) /* bytes of what a .gz file holds */

typedef struct sh_csv_row {
    const char *const *fields; /* UTF-8; borrowed until the next row is read */
    size_t count;              /* the same for all rows, at least 1 */
    uint64_t line;             /* where it begins in the file; the first is 1 */
} sh_csv_row;

/*
 * Opens `path` (copied) and finds the separator; the first `skip_lines` lines are left out. `*csv`
 * is owned: sh_csv_close it. Fails with SH_UNSUPPORTED where libcsv is missing, with SH_FORMAT
 * where all lines are left out or the file is empty or UTF-16, and as opening a file does.
 */
sh_status sh_csv_open(sh_csv **csv, const char *path, uint32_t skip_lines) SHOAL_CHECKED;

/*
 * Reads what comes on descriptor `fd` (borrowed until the reader is closed), such as a pipe: a row
 * as soon as its line is complete. `name` (copied) is for messages. The separator is found by what
 * comes with the first line. It cannot be rewound and has no digest. Fails as sh_csv_open does.
 */
sh_status sh_csv_open_stream(sh_csv **csv, int fd, const char *name) SHOAL_CHECKED;

/*
 * The next row, NULL behind the last one. Fails with SH_FORMAT, naming the line, for a row that has
 * another number of fields than the first, a quote that is not closed or stands inside a field, a
 * zero byte and what is no UTF-8; with SH_LIMIT for what the limits above exclude. After a failure
 * only closing and rewinding are allowed, and where sh_csv_goes_on the next row.
 */
sh_status sh_csv_next(sh_csv *csv, const sh_csv_row **row) SHOAL_CHECKED;

/* Whether the failure was that of a row with another number of fields. */
bool sh_csv_goes_on(const sh_csv *csv);

/* The path it was opened with, for messages; borrowed. */
const char *sh_csv_path(const sh_csv *csv);

/* Goes back to before the first row. */
sh_status sh_csv_rewind(sh_csv *csv) SHOAL_CHECKED;

/* The SHA-256 of all bytes of the file, unpacked. Reads the whole file. */
sh_status sh_csv_digest(const sh_csv *csv, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/* NULL is fine. */
void sh_csv_close(sh_csv *csv);

#endif
