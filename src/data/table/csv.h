/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file of separated values, plain or .gz, row by row.
 *
 *     while ((status = sh_csv_next(csv, &row)) == SH_OK && row != NULL)
 *         use(row->fields, row->count, row->line);
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

#define SH_CSV_FIELDS_MOST 100000         /* of a row */
#define SH_CSV_FIELD_MOST (1u << 20)      /* bytes */
#define SH_CSV_ROW_MOST (1u << 26)        /* bytes */
#define SH_CSV_ROWS_MOST (1u << 30)       /* of a file */
#define SH_CSV_UNPACKED_MOST (1ull << 36) /* bytes of a .gz file */

typedef struct sh_csv_row {
    const char *const *fields; /* UTF-8; borrowed until the next row is read */
    size_t count;              /* at least 1, the same for all rows */
    uint64_t line;             /* where the row begins, from 1 */
} sh_csv_row;

/*
 * Skips the first `skip_lines` lines of `path` (copied). `*csv` is owned. SH_UNSUPPORTED without
 * libcsv; SH_FORMAT if all lines are skipped or the file is empty, UTF-16 or a ZIP archive; errors
 * of the disk.
 */
sh_status sh_csv_open(sh_csv **csv, const char *path, uint32_t skip_lines) SHOAL_CHECKED;

/*
 * Reads from `fd` (borrowed until sh_csv_close), such as a pipe. A row is returned as soon as its
 * line is complete. `name` (copied) is for messages. The separator is detected from the first line
 * and the bytes that arrive with it. A stream cannot be rewound and has no digest. Fails as
 * sh_csv_open.
 */
sh_status sh_csv_open_stream(sh_csv **csv, int fd, const char *name) SHOAL_CHECKED;

/*
 * `*row` is NULL after the last row. SH_FORMAT, naming the line, if the number of fields differs
 * from the first row's, if a quote is not closed or is inside an unquoted field, and for a zero
 * byte or invalid UTF-8; SH_LIMIT beyond the limits above. After a failure, only sh_csv_close and
 * sh_csv_rewind are allowed, and sh_csv_next if sh_csv_goes_on.
 */
sh_status sh_csv_next(sh_csv *csv, const sh_csv_row **row) SHOAL_CHECKED;

/* True if the last sh_csv_next failed because of the number of fields; reading may continue. */
bool sh_csv_goes_on(const sh_csv *csv);

/* The path or name given; borrowed until sh_csv_close. */
const char *sh_csv_path(const sh_csv *csv);

sh_status sh_csv_rewind(sh_csv *csv) SHOAL_CHECKED;

/* The SHA-256 of all unpacked bytes; reads the whole file. */
sh_status sh_csv_digest(const sh_csv *csv, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

void sh_csv_close(sh_csv *csv);

#endif
