/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of series: CSV files of numbers, read once into a file without a name, from which any
 * window of rows can be read.
 *
 *     sh_series_rows rows;
 *     sh_series_rows_init(&rows, &(sh_series_form){.target = "activity"});
 *     SH_TRY(sh_series_rows_add(&rows, &first, &count, "/data/a.csv", "a.csv"));
 *     SH_TRY(sh_series_rows_read(&rows, first, numbers, 128)); // [128][rows.width]
 *     sh_series_rows_release(&rows);
 *
 * A first row of which more than half is words is a header. A first column with the name
 * timestamp, time, datetime, date or t is dropped. Up to SH_SERIES_GAP_MOST values that are missing
 * below each other are interpolated between their neighbours, or equal the one neighbour at an end
 * of the file.
 *
 * Threads: `read` any, several at once; the rest one at a time.
 */
#ifndef SHOAL_DATA_SERIES_SERIES_ROWS_H
#define SHOAL_DATA_SERIES_SERIES_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/memory.h"

#define SH_SERIES_GAP_MOST 10
#define SH_SERIES_CLASSES_MOST 1024 /* of a column */
#define SH_SERIES_COLUMNS_MOST 65536

/* What is known of the files before they are read. Texts are borrowed until the release. */
typedef struct sh_series_form {
    uint32_t skip_lines;
    const char *target; /* the column of labels: its name or number, from 1; "": none, or: */
    bool finds_target;  /* the last column is it, where the first row has a word there */
} sh_series_form;

typedef struct sh_series_column {
    char *name;
    size_t field;    /* of a row of the file */
    uint64_t filled; /* values that were interpolated */
    double last;     /* the last value of this file; `missing` rows follow it */
    uint32_t missing;
    bool known; /* there was one */
} sh_series_column;

typedef struct sh_series_rows {
    sh_series_form form;
    sh_arena arena;
    int fd;
    size_t fields; /* of a row of a file; 0: no file is read yet */
    bool header;
    char *time;             /* the name of the column that is dropped; NULL: none */
    uint64_t disordered;    /* rows whose time is not behind that of the row before */
    uint64_t disorder_line; /* the first of them, and its file */
    char disorder_name[256];
    double interval;           /* between rows of the first file, by that column; 0: not known */
    sh_series_column *columns; /* of numbers, in order */
    size_t count;              /* of them */
    size_t target;             /* field of the labels; SIZE_MAX: none */
    char *target_name;
    size_t width; /* numbers of a row: the columns, then the class where there is one */
    char *classes[SH_SERIES_CLASSES_MOST]; /* as they came */
    uint32_t class_count;
    uint64_t rows, base; /* in all; the first of those that are not in the file yet */
    double *buffer;
    size_t buffer_rows;
    char first_name[256]; /* of the first file, for messages */
} sh_series_rows;

void sh_series_rows_init(sh_series_rows *rows, const sh_series_form *form);

/*
 * Adds a file: its rows are `*first` .. `*first + *count - 1`. Fails with SH_FORMAT and the line
 * for what is no number or missing for too long, SH_MISMATCH where its columns are not those of the
 * first file, and as sh_csv_next does.
 */
sh_status sh_series_rows_add(sh_series_rows *rows, uint64_t *first, uint64_t *count,
                             const char *path, const char *name) SHOAL_CHECKED;

/* Writes what is still in memory; before the first sh_series_rows_read. */
sh_status sh_series_rows_end(sh_series_rows *rows) SHOAL_CHECKED;

/* Reads `count` rows: numbers[count][width]. The class of a row without a label is -1. */
sh_status sh_series_rows_read(const sh_series_rows *rows, uint64_t first, double *numbers,
                              size_t count) SHOAL_CHECKED;

void sh_series_rows_release(sh_series_rows *rows);

#endif
