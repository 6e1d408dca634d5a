/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in texts that a kernel writes. What is not there, or is not a number, is NaN; the
 * program's language changes nothing.
 *
 *     sh_numbers_field("MemFree:  12 kB\nSwapFree: 3 kB\n", "SwapFree:")       // 3
 *
 * Threads: any.
 */
#ifndef SHOAL_MONITOR_NUMBERS_H
#define SHOAL_MONITOR_NUMBERS_H

/*
 * The decimal number at *text, behind blanks, with a blank, a line's end or the text's behind it;
 * *text then stands behind it. NaN: *text is unchanged.
 */
double sh_numbers_next(const char **text);

/* The number behind `name` in the first line that begins with this word. */
double sh_numbers_field(const char *text, const char *name);

#endif
