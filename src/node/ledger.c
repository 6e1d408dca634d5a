/* SPDX-License-Identifier: Apache-2.0 */
#include "node/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sh_ledger_entry {
    uint32_t device;
    bool took_part;
    sh_device_report report;
};

static struct sh_ledger_entry *find(const sh_ledger *ledger, uint32_t device)
{
    for (size_t i = 0; i < ledger->count; i++)
        if (ledger->entries[i].device == device)
            return &ledger->entries[i];
    return NULL;
}

void sh_ledger_open(sh_ledger *ledger, uint32_t device, const char *name)
{
    struct sh_ledger_entry *more =
        realloc(ledger->entries, (ledger->count + 1) * sizeof *ledger->entries);
    if (more == NULL)
        return;
    ledger->entries = more;
    more[ledger->count] = (struct sh_ledger_entry){.device = device};
    char *kept = more[ledger->count++].report.name;
    snprintf(kept, SH_NAME_BYTES, "%.*s", SH_NAME_BYTES - 1, name);
}

void sh_ledger_note(sh_ledger *ledger, uint32_t device, const sh_device_report *report,
                    bool takes_part)
{
    struct sh_ledger_entry *entry = find(ledger, device);
    sh_device_report fresh = *report;
    if (entry == NULL)
        return;
    memcpy(fresh.name, entry->report.name, sizeof fresh.name);
    entry->report = fresh;
    entry->took_part = entry->took_part || takes_part || fresh.grains > 0;
}

const char *sh_ledger_name(const sh_ledger *ledger, uint32_t device)
{
    const struct sh_ledger_entry *entry = find(ledger, device);
    return entry == NULL ? "" : entry->report.name;
}

sh_status sh_ledger_reports(const sh_ledger *ledger, sh_device_report **reports, size_t *count)
{
    sh_device_report *fresh = calloc(ledger->count + 1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(ledger->count * sizeof *fresh, "the devices' reports");
    *count = 0;
    for (size_t i = 0; i < ledger->count; i++)
        if (i == 0 || ledger->entries[i].took_part)
            fresh[(*count)++] = ledger->entries[i].report;
    *reports = fresh;
    return SH_OK;
}

void sh_ledger_release(sh_ledger *ledger)
{
    free(ledger->entries);
    *ledger = (sh_ledger){0};
}
