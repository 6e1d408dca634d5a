/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/numbers.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *digits(double *number, const char *at)
{
    for (*number = 0; is_digit(*at); at++)
        *number = *number * 10 + (*at - '0');
    return at;
}

double sh_numbers_next(const char **text)
{
    const char *at = *text + strspn(*text, " \t");
    const bool negative = *at == '-';
    double number, fraction;
    at += negative;
    if (!is_digit(*at))
        return NAN;
    at = digits(&number, at);
    if (at[0] == '.' && is_digit(at[1])) {
        const char *end = digits(&fraction, at + 1);
        number += fraction / pow(10, (double)(end - at - 1));
        at = end;
    }
    if (strchr(" \t\n", *at) == NULL) /* also finds the terminator */
        return NAN;
    *text = at;
    return negative ? -number : number;
}

double sh_numbers_field(const char *text, const char *name)
{
    const size_t length = strlen(name);
    while (strncmp(text, name, length) != 0 || strchr(" \t", text[length]) == NULL) {
        text = strchr(text, '\n');
        if (text == NULL)
            return NAN;
        text++;
    }
    text += length;
    return sh_numbers_next(&text);
}
