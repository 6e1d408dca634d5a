/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file of separated values, plain or .gz, row by row.
 *
 *     sh_csv *csv;
 *     const sh_csv_row *row;
 *     SH_TRY(sh_csv_open(&csv, "/data/wine.csv", 0));
 *     while ((status = sh_csv_next(csv, &row)) == SH_OK && row != NULL)
 *         use(row->fields, row->count, row->line);
 *     sh_csv_close(csv);
 *
 * The separator is detected from the first lines: a tab, ';', '|', ',' or blanks, where a run of
 * blanks counts once. A field may be enclosed in double quotes; a doubled quote inside is one
 * quote. Lines end with LF, CR LF or CR. A byte order mark, blank lines, and blanks around an
 * unquoted field are ignored. A header is a row like the others.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_CSV_H
#define SHOAL_DATA_TABLE_CSV_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/fail.h"

typedef struct sh_csv sh_csv;

#define SH_CSV_FIELDS_MOST 100000         /* most fields of a row */
#define SH_CSV_FIELD_MOST (1u << 20)      /* most bytes of a field */
#define SH_CSV_ROW_MOST (1u << 26)        /* most bytes of a row */
#define SH_CSV_ROWS_MOST (1u << 30)       /* most rows of a file */
#define SH_CSV_UNPACKED_MOST (1ull << 36) /* most unpacked bytes of a .gz file */

typedef struct sh_csv_row {
    const char *const *fields; /* UTF-8; borrowed until the next row is read */
    size_t count;              /* at least 1, the same for all rows */
    uint64_t line;             /* line of the file where the row begins, from 1 */
} sh_csv_row;

/*
 * Opens `path` (copied), skips the first `skip_lines` lines, and detects the separator. `*csv` is
 * owned: close it with sh_csv_close. Fails with SH_UNSUPPORTED if libcsv is missing, with SH_FORMAT
 * if all lines are skipped or the file is empty, UTF-16 or a ZIP archive, and with errors of the
 * disk.
 */
sh_status sh_csv_open(sh_csv **csv, const char *path, uint32_t skip_lines) SHOAL_CHECKED;

/*
 * Reads from descriptor `fd` (borrowed until sh_csv_close), such as a pipe. A row is returned as
 * soon as its line is complete. `name` (copied) is for messages. The separator is detected from the
 * first line and the bytes that arrive with it. The stream cannot be rewound and has no digest.
 * Fails as sh_csv_open does.
 */
sh_status sh_csv_open_stream(sh_csv **csv, int fd, const char *name) SHOAL_CHECKED;

/*
 * Sets `*row` to the next row, or to NULL after the last one. Fails with SH_FORMAT, naming the
 * line, if the number of fields differs from the first row's, if a quote is not closed or is inside
 * an unquoted field, and for a zero byte or invalid UTF-8; with SH_LIMIT beyond the limits above.
 * After a failure, only sh_csv_close and sh_csv_rewind are allowed, and sh_csv_next if
 * sh_csv_goes_on.
 */
sh_status sh_csv_next(sh_csv *csv, const sh_csv_row **row) SHOAL_CHECKED;

/* True if the last sh_csv_next failed because of the number of fields; reading may continue. */
bool sh_csv_goes_on(const sh_csv *csv);

/* The path or name it was opened with; borrowed until sh_csv_close. */
const char *sh_csv_path(const sh_csv *csv);

/* Returns to the first row of the same open file. */
sh_status sh_csv_rewind(sh_csv *csv) SHOAL_CHECKED;

/* Returns the SHA-256 of all unpacked bytes in `hex`. Reads the whole file. */
sh_status sh_csv_digest(const sh_csv *csv, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/* NULL is ignored. */
void sh_csv_close(sh_csv *csv);

#endif
