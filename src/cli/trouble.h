/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong, in words, for the person at the command line. The library has its own such text
 * (sh_message); this one is for what fails in the command line itself.
 *
 *     sh_trouble trouble;
 *     if (!sh_json_file_check(&trouble, path))
 *         return sh_console_fail("%s", trouble.text);
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLI_TROUBLE_H
#define SHOAL_CLI_TROUBLE_H

#include <stdbool.h>

typedef struct sh_trouble {
    char text[1024]; /* one line without a final stop */
} sh_trouble;

/* Sets the text, cut where it is too long, and returns false: what failing functions return. */
bool sh_trouble_set(sh_trouble *trouble, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
