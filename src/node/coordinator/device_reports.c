/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/device_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device_entry {
    uint32_t device;
    bool took_part;
    sh_device_report report;
};

static struct device_entry *find(const sh_device_reports *reports, uint32_t device)
{
    for (size_t i = 0; i < reports->count; i++)
        if (reports->entries[i].device == device)
            return &reports->entries[i];
    return NULL;
}

void sh_device_reports_add(sh_device_reports *reports, uint32_t device, const char *name)
{
    struct device_entry *more =
        realloc(reports->entries, (reports->count + 1) * sizeof *reports->entries);
    if (more == NULL)
        return;
    reports->entries = more;
    more[reports->count] = (struct device_entry){.device = device};
    char *kept = more[reports->count++].report.name;
    snprintf(kept, SH_NAME_BYTES, "%.*s", SH_NAME_BYTES - 1, name);
}

void sh_device_reports_note(sh_device_reports *reports, uint32_t device,
                            const sh_device_report *report, bool takes_part)
{
    struct device_entry *entry = find(reports, device);
    sh_device_report fresh = *report;
    if (entry == NULL)
        return;
    memcpy(fresh.name, entry->report.name, sizeof fresh.name);
    entry->report = fresh;
    entry->took_part = entry->took_part || takes_part || fresh.grains > 0;
}

const char *sh_device_reports_name(const sh_device_reports *reports, uint32_t device)
{
    const struct device_entry *entry = find(reports, device);
    return entry == NULL ? "" : entry->report.name;
}

sh_status sh_device_reports_list(const sh_device_reports *kept, sh_device_report **reports,
                                 size_t *count)
{
    sh_device_report *fresh = calloc(kept->count + 1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(kept->count * sizeof *fresh, "the devices' reports");
    *count = 0;
    for (size_t i = 0; i < kept->count; i++)
        if (i == 0 || kept->entries[i].took_part)
            fresh[(*count)++] = kept->entries[i].report;
    *reports = fresh;
    return SH_OK;
}

void sh_device_reports_release(sh_device_reports *reports)
{
    free(reports->entries);
    *reports = (sh_device_reports){0};
}
