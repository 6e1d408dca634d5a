/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of each device of a job, for the summary. Entries outlive connections. A device that
 * rejoins has a new number but keeps its entry, found by its name and process (`origin`).
 *
 *     sh_device_reports_add(&reports, device, name, origin);
 *     sh_device_reports_note(&reports, device, &report, true);   // its newest figures
 *     sh_device_reports_release(&reports);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_DEVICE_REPORTS_H
#define SHOAL_NODE_DEVICE_REPORTS_H

#include "base/fail.h"
#include "net/message.h"
#include "shoal/train.h"

/* Initially zero. */
typedef struct sh_device_reports {
    struct device_entry *entries; /* owned, in order of joining */
    size_t count;
} sh_device_reports;

/* `origin`: SH_MESSAGE_ORIGIN_BYTES that identify its process; copied. Without memory, the device's
 * figures are lost. */
void sh_device_reports_add(sh_device_reports *reports, uint32_t device, const char *name,
                           const unsigned char *origin);

/* The first number of this device; `device` itself if it is unknown. */
uint32_t sh_device_reports_first(const sh_device_reports *reports, uint32_t device);

/* Updates a device's figures; ignores the name in `report`. Seconds and memory are those of the
 * process, others count since the device joined with this number. `takes_part`: it is in a view. A
 * device that computed anything was in a view. */
void sh_device_reports_note(sh_device_reports *reports, uint32_t device,
                            const sh_device_report *report, bool takes_part);

/* "" if unknown. Borrowed until the next change. */
const char *sh_device_reports_name(const sh_device_reports *reports, uint32_t device);

/* Reports device 0 and all devices that were ever in a view; owned: free(). */
sh_status sh_device_reports_list(const sh_device_reports *kept, sh_device_report **reports,
                                 size_t *count) SHOAL_CHECKED;

void sh_device_reports_release(sh_device_reports *reports);

#endif
