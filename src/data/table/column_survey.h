/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the columns of a table hold, found in one pass over its rows, and whether the first row is a
 * header.
 *
 *     sh_survey survey;
 *     SH_TRY(sh_survey_make(&survey, csv, "price"));
 *     if (sh_column_kind(&survey.columns[3]) == SH_KIND_CATEGORY) ...
 *     sh_survey_release(&survey);
 *
 * The first row is a header if most of its fields above columns of numbers or dates are words; or,
 * where no column holds either, if all its fields are different words that stand nowhere below.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_COLUMN_SURVEY_H
#define SHOAL_DATA_TABLE_COLUMN_SURVEY_H

#include <stdbool.h>

#include "data/table/cell.h"
#include "data/table/csv.h"
#include "data/table/lexicon.h"

typedef enum sh_kind {
    SH_KIND_NOTHING, /* all is missing */
    SH_KIND_NUMBER,
    SH_KIND_DATE,     /* days as a number */
    SH_KIND_CATEGORY, /* one of a set of words */
    SH_KIND_ORDINAL,  /* one of a list of words that have an order; only where declared */
} sh_kind;

/* "number". */
const char *sh_kind_name(sh_kind kind);

#define SH_CATEGORIES_MOST 64    /* of an input */
#define SH_COLUMN_CLASSES 65536  /* of a target */
#define SH_COLUMN_WORDS 4096     /* different values that are kept of a column, at most */
#define SH_SURVEY_WORDS 1000000u /* and of all, but at least SH_CATEGORIES_MOST + 1 of each */

typedef struct sh_column {
    char *name;                /* the header's, or its number, from 1 */
    uint64_t counts[SH_CELLS]; /* fields, by what they say */
    uint64_t lines[SH_CELLS];  /* where the first of them is */
    uint64_t whole;            /* numbers that are whole */
    uint64_t steps;            /* numbers that are one more than the number before */
    double last;               /* the number before */
    char *odd;                 /* the first word, as sh_cell_name; NULL: none */
    sh_lexicon words;          /* sh_cell_name of what is not missing, sorted */
    uint32_t words_most;
    bool many; /* there are more of them than are kept; `words` is empty */
} sh_column;

typedef struct sh_survey {
    sh_column *columns;
    size_t count;
    uint64_t rows; /* without the header */
    bool header;
    uint64_t first_line; /* of the first row, the header included */
} sh_survey;

/*
 * Reads all rows of `csv`, which is at its start. `target` is as in sh_read_options: all different
 * values of these columns are kept. `*survey` is owned: sh_survey_release it. Fails as sh_csv_next
 * does, and with SH_FORMAT where there is no row of data.
 */
sh_status sh_survey_make(sh_survey *survey, sh_csv *csv, const char *target) SHOAL_CHECKED;

/* Zeroed is fine. */
void sh_survey_release(sh_survey *survey);

/* The column of this name, or of this number from 1 where none has the name; false: none. */
bool sh_survey_find(uint32_t *column, const sh_survey *survey, const char *name);

/* Copies the next name of a list with commas and moves `*list` behind it; false at the end, where
 * `*list` is NULL. What does not fit is cut. */
bool sh_survey_next_name(char name[SH_CELL_NAME_BYTES], const char **list);

/* What the column holds: numbers or dates where all is that or missing, else categories. */
sh_kind sh_column_kind(const sh_column *column);

/* Fields that are not missing. */
uint64_t sh_column_present(const sh_column *column);

#endif
