/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trouble.h"

#include <stdarg.h>
#include <stdio.h>

bool sh_trouble_set(sh_trouble *trouble, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trouble->text, sizeof trouble->text, format, arguments);
    va_end(arguments);
    return false;
}
