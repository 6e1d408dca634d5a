/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a series: CSV files of numbers are read once into an unnamed temporary file, from
 * which any window of rows can be read.
 *
 *     SH_TRY(sh_series_rows_add(&rows, &first, &count, "/data/a.csv", "a.csv"));
 *     SH_TRY(sh_series_rows_end(&rows));
 *     SH_TRY(sh_series_rows_read(&rows, first, numbers, 128)); // [128][rows.width]
 *
 * The first row is a header if more than half of its fields are words. A first column named
 * timestamp, time, datetime, date or t is dropped. Up to SH_SERIES_GAP_MOST consecutive missing
 * values are interpolated; at the start or end of a file they are set to the nearest value.
 *
 * Threads: any for `read` after `end`; for the rest the caller locks.
 */
#ifndef SHOAL_DATA_SERIES_SERIES_ROWS_H
#define SHOAL_DATA_SERIES_SERIES_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/memory.h"

#define SH_SERIES_GAP_MOST 10
#define SH_SERIES_CLASSES_MOST 1024
#define SH_SERIES_COLUMNS_MOST 65536

/* Texts are borrowed until sh_series_rows_release. */
typedef struct sh_series_form {
    uint32_t skip_lines;
    const char *target; /* column of labels: name, or number from 1; "": see finds_target */
    bool finds_target;  /* if "": the last column, if the first row of data has a word there */
} sh_series_form;

typedef struct sh_series_column {
    char *name;
    size_t field;    /* index in a row of the file */
    uint64_t filled; /* interpolated values */
    double last;     /* last value of the current file; `missing` rows follow it */
    uint32_t missing;
    bool known; /* `last` is set */
} sh_series_column;

typedef struct sh_series_rows {
    sh_series_form form;
    sh_arena arena;
    int fd;
    size_t fields; /* in each row of a file; 0 before the first file */
    bool header;
    char *time;             /* name of the dropped column, or NULL */
    uint64_t disordered;    /* rows whose time is not after that of the row before */
    uint64_t disorder_line; /* line and file of the first of them */
    char disorder_name[256];
    double interval;           /* mean time between rows of the first file; 0: unknown */
    sh_series_column *columns; /* of numbers, in order */
    size_t count;              /* of columns */
    size_t target;             /* field of the labels, or SIZE_MAX */
    char *target_name;
    size_t width; /* numbers in a row: the columns, then the class if there is a target */
    char *classes[SH_SERIES_CLASSES_MOST]; /* in order of occurrence */
    uint32_t class_count;
    uint64_t rows, base; /* rows added; first row in the buffer */
    double *buffer;
    size_t buffer_rows;
    char first_name[256]; /* for messages */
} sh_series_rows;

void sh_series_rows_init(sh_series_rows *rows, const sh_series_form *form);

/*
 * The file's rows are `*first` .. `*first + *count - 1`. `name` is for messages. SH_FORMAT, naming
 * the line, if a value is not a number or too many are missing; SH_MISMATCH if the columns differ
 * from the first file's; and as sh_csv_next.
 */
sh_status sh_series_rows_add(sh_series_rows *rows, uint64_t *first, uint64_t *count,
                             const char *path, const char *name) SHOAL_CHECKED;

/* Must be called after the last addition and before reading. */
sh_status sh_series_rows_end(sh_series_rows *rows) SHOAL_CHECKED;

/* Reads into numbers[count][width]. The class of a row without a label is -1. */
sh_status sh_series_rows_read(const sh_series_rows *rows, uint64_t first, double *numbers,
                              size_t count) SHOAL_CHECKED;

void sh_series_rows_release(sh_series_rows *rows);

#endif
