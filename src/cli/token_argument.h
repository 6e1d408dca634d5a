/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token on the command line or on standard input.
 *
 *     char line[SH_TOKEN_LINE_BYTES];
 *     const char *token = sh_token_argument(line, arguments->positionals[0]);
 *     if (token == NULL)
 *         return SH_EXIT_FAILURE;
 *
 * Threads: main only.
 */
#ifndef SHOAL_CLI_TOKEN_ARGUMENT_H
#define SHOAL_CLI_TOKEN_ARGUMENT_H

#include <stdbool.h>

#define SH_TOKEN_LINE_BYTES 4096

/* Whether an argument is a token, and not the name of a file. */
bool sh_token_is(const char *argument);

/*
 * Copies the token to `line`, and removes it from the program's arguments, which the list of
 * processes shows. "-": reads it from standard input. Returns the token within the line. NULL:
 * none; the reason was printed. The caller wipes the line.
 */
const char *sh_token_argument(char line[SH_TOKEN_LINE_BYTES], const char *argument);

#endif
