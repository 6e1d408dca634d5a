/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies a field of a table: a number, a date, a missing value, or a word.
 *
 * Surrounding blanks are ignored. The decimal point is independent of the locale.
 *
 *     double value;
 *     if (sh_cell_read(&value, "3.8075906433423410180e-02") == SH_CELL_NUMBER)
 *         sum += value;
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_TABLE_CELL_H
#define SHOAL_DATA_TABLE_CELL_H

typedef enum sh_cell {
    SH_CELL_MISSING,  /* empty, ?, NA, N/A, NaN, null, in any case */
    SH_CELL_NUMBER,   /* [+-]digits[.digits][e[+-]digits]; finite */
    SH_CELL_DATE,     /* YYYY-MM-DD, optionally THH:MM[:SS[.digits]], then Z, +HH:MM or nothing */
    SH_CELL_INFINITE, /* inf, infinity, or too large for a double */
    SH_CELL_WORD,
} sh_cell;

/*
 * Sets `*value` to the number, for a date (ISO 8601; UTC without a zone) to the days since
 * 1970-01-01, otherwise to 0. A number is rounded to the nearest double, ties to even, by its first
 * 40 significant digits.
 */
sh_cell sh_cell_read(double *value, const char *text);

#define SH_CELLS (SH_CELL_WORD + 1)
#define SH_CELL_NAME_BYTES 256

/*
 * Stores the category or class name of a field in `name` and returns `name`: "1" for a whole number
 * in any notation ("01", "1.0"), otherwise the text without surrounding blanks, truncated to fit,
 * with '?' for control characters.
 */
const char *sh_cell_name(char name[SH_CELL_NAME_BYTES], const char *text);

#endif
