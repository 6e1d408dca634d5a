/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define MORE_BYTES 32 /* of " and 4294967295 more" */
#define NAME_BYTES 300

void sh_names_add(sh_names *names, const char *format, ...)
{
    char raw[NAME_BYTES], name[NAME_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    const size_t bytes = strlen(sh_utf8_clean(name, sizeof name, length < 0 ? "?" : raw));
    names->count++;
    if (names->left_out > 0 || names->used + bytes + 2 > sizeof names->text - MORE_BYTES) {
        names->left_out++;
        return;
    }
    names->used += (size_t)snprintf(names->text + names->used, sizeof names->text - names->used,
                                    "%s%s", names->used > 0 ? ", " : "", name);
}

const char *sh_names_end(sh_names *names)
{
    if (names->left_out > 0)
        snprintf(names->text + names->used, sizeof names->text - names->used, " and %u more",
                 names->left_out);
    return names->text;
}

sh_status sh_notes_add(json_t *notes, const char *format, ...)
{
    char raw[SH_MESSAGE_BYTES], text[SH_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    sh_utf8_clean(text, sizeof text, length < 0 ? "?" : raw); /* `raw` may be truncated */
    if (json_array_append_new(notes, json_string(text)) != 0)
        return sh_fail_memory(sizeof text, "notes on a table");
    return SH_OK;
}
