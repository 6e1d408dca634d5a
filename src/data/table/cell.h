/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a field of a table says by itself: a number, a date, nothing, or a word.
 *
 *     double value;
 *     if (sh_cell_read(&value, "3.8075906433423410180e-02") == SH_CELL_NUMBER)
 *         sum += value;
 *
 * Blanks around the text mean nothing. The decimal point is a point whatever the locale.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_TABLE_CELL_H
#define SHOAL_DATA_TABLE_CELL_H

typedef enum sh_cell {
    SH_CELL_MISSING,  /* empty, ?, NA, N/A, NaN, null, in any case */
    SH_CELL_NUMBER,   /* [+-]digits[.digits][e[+-]digits]; finite */
    SH_CELL_DATE,     /* YYYY-MM-DD, or with THH:MM[:SS[.digits]] and then Z, +HH:MM or nothing */
    SH_CELL_INFINITE, /* inf, infinity, and a number that is too large for a double */
    SH_CELL_WORD,     /* everything else */
} sh_cell;

/*
 * Sets `*value` to the number, or to the days since 1970-01-01 of a date (ISO 8601; UTC where no
 * zone is given); to 0 for the others. A number is the double nearest to it, halves to even, as far
 * as 40 digits decide.
 */
sh_cell sh_cell_read(double *value, const char *text);

#define SH_CELLS (SH_CELL_WORD + 1)
#define SH_CELL_NAME_BYTES 256

/*
 * The name under which a field is a category or class: "1" for a whole number however it is written
 * ("01", "1.0"), else the text without the blanks around it, as far as it fits, with '?' for
 * control characters. Returns `name`.
 */
const char *sh_cell_name(char name[SH_CELL_NAME_BYTES], const char *text);

#endif
