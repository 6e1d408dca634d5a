/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/device_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device_entry {
    uint32_t device;
    bool took_part;
    unsigned char origin[SH_MESSAGE_ORIGIN_BYTES];
    sh_device_report report;
};

static struct device_entry *find(const sh_device_reports *reports, uint32_t device)
{
    for (size_t i = 0; i < reports->count; i++)
        if (reports->entries[i].device == device)
            return &reports->entries[i];
    return NULL;
}

static struct device_entry *first(const sh_device_reports *reports,
                                  const struct device_entry *entry)
{
    struct device_entry *each = reports->entries;
    while (each != entry && (memcmp(each->origin, entry->origin, sizeof each->origin) != 0 ||
                             strcmp(each->report.name, entry->report.name) != 0))
        each++;
    return each;
}

void sh_device_reports_add(sh_device_reports *reports, uint32_t device, const char *name,
                           const unsigned char *origin)
{
    struct device_entry *more =
        realloc(reports->entries, (reports->count + 1) * sizeof *reports->entries);
    if (more == NULL)
        return;
    reports->entries = more;
    more[reports->count] = (struct device_entry){.device = device};
    memcpy(more[reports->count].origin, origin, SH_MESSAGE_ORIGIN_BYTES);
    char *kept = more[reports->count++].report.name;
    snprintf(kept, SH_NAME_BYTES, "%.*s", SH_NAME_BYTES - 1, name);
}

uint32_t sh_device_reports_first(const sh_device_reports *reports, uint32_t device)
{
    const struct device_entry *entry = find(reports, device);
    return entry == NULL ? device : first(reports, entry)->device;
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

static void add(sh_device_report *sum, const sh_device_report *more)
{
    sum->grains += more->grains;
    sum->samples += more->samples;
    sum->bytes_sent += more->bytes_sent;
    sum->bytes_received += more->bytes_received;
    if (more->cpu_seconds > sum->cpu_seconds)
        sum->cpu_seconds = more->cpu_seconds;
    if (more->peak_rss_bytes > sum->peak_rss_bytes)
        sum->peak_rss_bytes = more->peak_rss_bytes;
}

sh_status sh_device_reports_list(const sh_device_reports *kept, sh_device_report **reports,
                                 size_t *count)
{
    sh_device_report *fresh = calloc(kept->count + 1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(kept->count * sizeof *fresh, "the devices' reports");
    *count = 0;
    for (size_t i = 0; i < kept->count; i++) {
        const struct device_entry *one = &kept->entries[i];
        if (first(kept, one) != one)
            continue;
        sh_device_report sum = one->report;
        bool took_part = i == 0 || one->took_part;
        for (size_t k = i + 1; k < kept->count; k++)
            if (first(kept, &kept->entries[k]) == one) {
                add(&sum, &kept->entries[k].report);
                took_part = took_part || kept->entries[k].took_part;
            }
        if (took_part)
            fresh[(*count)++] = sum;
    }
    *reports = fresh;
    return SH_OK;
}

void sh_device_reports_release(sh_device_reports *reports)
{
    free(reports->entries);
    *reports = (sh_device_reports){0};
}
