/* SPDX-License-Identifier: Apache-2.0 */
/* Separate from base/fail.c, which is also compiled into the program: a thread has one message. */
#include <stdio.h>

#include "base/fail.h"

static _Thread_local char message[SH_MESSAGE_BYTES];

const char *sh_message(void)
{
    return message;
}

void sh_message_set(const char *text)
{
    snprintf(message, sizeof message, "%s", text);
}

const char *sh_status_text(sh_status status)
{
    switch (status) {
#define STATUS_CASE(name, text)                                                                    \
    case SH_##name:                                                                                \
        return text;
        SH_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}
