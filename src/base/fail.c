/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

sh_status(sh_fail)(sh_status code, const char *format, ...)
{
    char text[SH_MESSAGE_BYTES], clean[SH_MESSAGE_BYTES];
    va_list arguments;
    assert(code != SH_OK);
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Names and contents of files may hold control codes. */
    sh_message_set(sh_utf8_clean(clean, sizeof clean, text));
    return code;
}

static const struct errno_rule {
    int error;
    sh_status code;
    const char *remedy;
} errno_rules[] = {
    {ENOENT, SH_NOT_FOUND, ""},
    {ENOTDIR, SH_NOT_FOUND, ""},
    {EACCES, SH_PERMISSION, "; check who owns it and its mode"},
    {EPERM, SH_PERMISSION, ""},
    {EROFS, SH_PERMISSION, "; choose a folder that can be written"},
    {ENOSPC, SH_NO_SPACE, "; free some space or choose another disk"},
    {EDQUOT, SH_NO_SPACE, "; free some of your quota or choose another disk"},
    {ENOMEM, SH_NO_MEMORY, ""},
    {EMFILE, SH_LIMIT, "; raise the limit of open files (ulimit -n)"},
};

sh_status(sh_fail_errno)(int error, const char *format, ...)
{
    char text[SH_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", error);
    for (size_t i = 0; i < sizeof errno_rules / sizeof *errno_rules; i++)
        if (errno_rules[i].error == error)
            return sh_fail(errno_rules[i].code, "%s: %s%s", text, reason, errno_rules[i].remedy);
    return sh_fail(SH_IO, "%s: %s", text, reason);
}

sh_status sh_fail_in(sh_status code, const char *format, ...)
{
    if (code == SH_OK)
        return code;
    char context[SH_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    return sh_fail(code, "%s: %s", context, sh_message());
}

sh_status(sh_fail_memory)(size_t bytes, const char *purpose)
{
    return sh_fail(SH_NO_MEMORY, "not enough memory: %zu bytes for %s", bytes, purpose);
}
