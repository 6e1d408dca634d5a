/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses numbers in texts of the kernel. A missing or malformed number is NaN. The result does not
 * depend on the locale.
 *
 *     sh_numbers_field("MemFree:  12 kB\nSwapFree: 3 kB\n", "SwapFree:")       // 3
 *
 * Threads: any.
 */
#ifndef SHOAL_MONITOR_NUMBERS_H
#define SHOAL_MONITOR_NUMBERS_H

/* Skips blanks, parses a decimal number and advances *text past it. A blank or the end of the line
 * or text must follow; otherwise *text is unchanged. */
double sh_numbers_next(const char **text);

/* The number after `name` at the start of a line. */
double sh_numbers_field(const char *text, const char *name);

#endif
