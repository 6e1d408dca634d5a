/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/serving.h"

#include <stdio.h>
#include <string.h>

static bool is_chosen(const sh_serving *serving, uint32_t device)
{
    for (uint32_t i = 0; i < serving->count; i++)
        if (serving->devices[i] == device)
            return true;
    return false;
}

static sh_status fail_text(const char *text, const char *what)
{
    return sh_fail(SH_INVALID,
                   "--servers %.64s: %s; write comma-separated device numbers, such as 0,2 (device "
                   "0 is this one, the others are numbered as they join)",
                   text, what);
}

sh_status sh_serving_parse(sh_serving *serving, const char *text)
{
    sh_serving fresh = {.on = serving->on};
    const char *at = text;
    for (;;) {
        const size_t digits = strspn(at, "0123456789");
        uint32_t device = 0;
        if (digits == 0 || digits > 9 || (at[digits] != ',' && at[digits] != '\0'))
            return fail_text(text, "must be a list of numbers");
        for (size_t i = 0; i < digits; i++)
            device = device * 10 + (uint32_t)(at[i] - '0');
        if (is_chosen(&fresh, device))
            return fail_text(text, "names a device twice");
        if (fresh.count == SH_DEVICES_MAX)
            return fail_text(text, "names more devices than a job can have");
        fresh.devices[fresh.count++] = device;
        if (at[digits] == '\0')
            break;
        at += digits + 1;
    }
    *serving = fresh;
    return SH_OK;
}

bool sh_serving_seat(const sh_serving *serving, sh_seat *seats, uint32_t count)
{
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        seats[i].serves = serving->on && is_chosen(serving, seats[i].device);
        any = any || seats[i].serves;
    }
    for (uint32_t i = 0; i < count && serving->on && !any; i++)
        seats[i].serves = true;
    return any || !serving->on || serving->count == 0;
}

void sh_serving_print(const sh_serving *serving, char text[SH_SERVING_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < serving->count; i++) {
        if (used > SH_SERVING_TEXT - 16) {
            snprintf(text + used, SH_SERVING_TEXT - used, ",...");
            return;
        }
        const int written = snprintf(text + used, SH_SERVING_TEXT - used, "%s%u", i > 0 ? "," : "",
                                     serving->devices[i]);
        used += written > 0 ? (size_t)written : 0;
    }
}
