/* SPDX-License-Identifier: Apache-2.0 */
#include "base/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

#define ONE_BYTES 256

void sh_diagnostics_add(sh_diagnostics *diagnostics, const char *format, ...)
{
    char one[ONE_BYTES], clean[ONE_BYTES];
    const size_t left = sizeof diagnostics->text - diagnostics->used;
    if (diagnostics->count++ >= SH_DIAGNOSTICS_NAMED || left <= 1)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one, sizeof one, format, arguments);
    va_end(arguments);
    const int added =
        snprintf(diagnostics->text + diagnostics->used, left, "%s%s",
                 diagnostics->count > 1 ? "; " : "", sh_utf8_clean(clean, sizeof clean, one));
    if (added > 0)
        diagnostics->used += (size_t)added < left ? (size_t)added : left - 1;
}

sh_status sh_diagnostics_fail(const sh_diagnostics *diagnostics, sh_status code, const char *place)
{
    char clean[ONE_BYTES];
    if (diagnostics->count == 0)
        return SH_OK;
    (void)sh_utf8_clean(clean, sizeof clean, place);
    if (diagnostics->count <= SH_DIAGNOSTICS_NAMED)
        return sh_fail(code, "%s: %s", clean, diagnostics->text);
    return sh_fail(code, "%s: %s; and %zu more", clean, diagnostics->text,
                   diagnostics->count - SH_DIAGNOSTICS_NAMED);
}
