/* SPDX-License-Identifier: Apache-2.0 */
#include "base/complaints.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

#define ONE_BYTES 256

void sh_complaints_add(sh_complaints *complaints, const char *format, ...)
{
    char one[ONE_BYTES], clean[ONE_BYTES];
    const size_t left = sizeof complaints->text - complaints->used;
    if (complaints->count++ >= SH_COMPLAINTS_NAMED || left <= 1)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one, sizeof one, format, arguments);
    va_end(arguments);
    const int added =
        snprintf(complaints->text + complaints->used, left, "%s%s",
                 complaints->count > 1 ? "; " : "", sh_utf8_clean(clean, sizeof clean, one));
    if (added > 0)
        complaints->used += (size_t)added < left ? (size_t)added : left - 1;
}

sh_status sh_complaints_fail(const sh_complaints *complaints, sh_status code, const char *place)
{
    char clean[ONE_BYTES];
    if (complaints->count == 0)
        return SH_OK;
    (void)sh_utf8_clean(clean, sizeof clean, place);
    if (complaints->count <= SH_COMPLAINTS_NAMED)
        return sh_fail(code, "%s: %s", clean, complaints->text);
    return sh_fail(code, "%s: %s; and %zu more", clean, complaints->text,
                   complaints->count - SH_COMPLAINTS_NAMED);
}
