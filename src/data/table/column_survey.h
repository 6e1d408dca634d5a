/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines in one pass what the columns of a table contain, and whether the first row is a
 * header.
 *
 * The first row is a header if most of its fields above columns of numbers or dates are words.
 * Without such columns, it is a header if its fields are distinct words that do not occur below.
 *
 *     sh_survey survey;
 *     SH_TRY(sh_survey_make(&survey, csv, "price"));
 *     if (sh_column_kind(&survey.columns[3]) == SH_KIND_CATEGORY) ...
 *     sh_survey_release(&survey);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_COLUMN_SURVEY_H
#define SHOAL_DATA_TABLE_COLUMN_SURVEY_H

#include <stdbool.h>

#include "data/table/cell.h"
#include "data/table/csv.h"
#include "data/table/vocabulary.h"

typedef enum sh_kind {
    SH_KIND_NOTHING, /* all are missing */
    SH_KIND_NUMBER,
    SH_KIND_DATE,     /* as days */
    SH_KIND_CATEGORY, /* one of a set of words */
    SH_KIND_ORDINAL,  /* one of an ordered list of words; only if the user declares it */
} sh_kind;

const char *sh_kind_name(sh_kind kind);

#define SH_CATEGORIES_MOST 64    /* most categories of an input */
#define SH_COLUMN_CLASSES 65536  /* most classes of a target */
#define SH_COLUMN_WORDS 4096     /* most distinct values stored for a column that is not a target */
#define SH_SURVEY_WORDS 1000000u /* of all columns; at least SH_CATEGORIES_MOST + 1 for each */

typedef struct sh_column {
    char *name;                /* from the header, or its number from 1; owned */
    uint64_t counts[SH_CELLS]; /* fields of each kind */
    uint64_t lines[SH_CELLS];  /* first line of each kind */
    uint64_t whole;            /* whole numbers */
    uint64_t steps;            /* numbers that are the previous one plus 1 */
    double last;               /* the previous number */
    char *odd;                 /* the first word, as sh_cell_name, or NULL; owned */
    sh_vocabulary words;       /* distinct sh_cell_name of the present values, sorted */
    uint32_t words_most;
    bool many; /* more than words_most; `words` is empty */
} sh_column;

typedef struct sh_survey {
    sh_column *columns;
    size_t count;
    uint64_t rows; /* without the header */
    bool header;
    uint64_t first_line; /* line of the first row, which may be the header */
} sh_survey;

/*
 * `csv` must be at its start. `target` is that of sh_read_options: up to SH_COLUMN_CLASSES distinct
 * values are stored for target columns. `*survey` is owned. Fails as sh_csv_next, and with
 * SH_FORMAT without a row of data.
 */
sh_status sh_survey_make(sh_survey *survey, sh_csv *csv, const char *target) SHOAL_CHECKED;

/* Safe for a zeroed value. */
void sh_survey_release(sh_survey *survey);

/* Finds a column by name, or if no name matches, by number from 1. False if there is none. */
bool sh_survey_find(uint32_t *column, const sh_survey *survey, const char *name);

/* Copies the next name of a comma-separated list, truncated to fit, and advances `*list`. After the
 * last, sets `*list` to NULL; then returns false. */
bool sh_survey_next_name(char name[SH_CELL_NAME_BYTES], const char **list);

/* Number or date if all values are, missing ones aside; otherwise category. */
sh_kind sh_column_kind(const sh_column *column);

/* Returns the number of fields that are not missing. */
uint64_t sh_column_present(const sh_column *column);

#endif
