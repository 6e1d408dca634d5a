/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/token_argument.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/console.h"

bool sh_token_is(const char *argument)
{
    return strncmp(argument, "shoal://", 8) == 0 || strcmp(argument, "-") == 0;
}

const char *sh_token_argument(char line[SH_TOKEN_LINE_BYTES], const char *argument)
{
    if (strcmp(argument, "-") != 0) {
        snprintf(line, SH_TOKEN_LINE_BYTES, "%s", argument);
        explicit_bzero((char *)(uintptr_t)argument, strlen(argument));
        return line;
    }
    line[0] = '\0';
    setvbuf(stdin, NULL, _IONBF, 0); /* no other copy of the token in memory */
    char *token =
        fgets(line, SH_TOKEN_LINE_BYTES, stdin) != NULL ? line + strspn(line, " \t") : line;
    token[strcspn(token, " \t\r\n")] = '\0';
    if (token[0] != '\0')
        return token;
    (void)!sh_console_fail("no token on standard input: the token is the line beginning with "
                           "shoal:// that 'shoal train --listen' prints");
    return NULL;
}
