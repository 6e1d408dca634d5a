/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each device of a job has done, for the summary; it is kept after the device is gone. A
 * device that is lost and comes back gets another number, and stays one device here: its name and
 * its process (`origin`) are the same.
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

/* All zero: an empty one. */
typedef struct sh_device_reports {
    struct device_entry *entries; /* owned, in the order of coming */
    size_t count;
} sh_device_reports;

/* A device has come. `origin`: SH_MESSAGE_ORIGIN_BYTES of its process, which are copied. Without
 * memory for it, its figures are not kept. */
void sh_device_reports_add(sh_device_reports *reports, uint32_t device, const char *name,
                           const unsigned char *origin);

/* The first number that this device had; `device` where it is not known. */
uint32_t sh_device_reports_first(const sh_device_reports *reports, uint32_t device);

/* Takes a device's newest figures; the name in `report` is not used. Seconds and memory are those
 * of the process, all else counts from the device's coming under this number. `takes_part`: the
 * device is in a view. A device that has computed something was in one. */
void sh_device_reports_note(sh_device_reports *reports, uint32_t device,
                            const sh_device_report *report, bool takes_part);

/* The name of a device; "" where it is not known. Borrowed until the next change. */
const char *sh_device_reports_name(const sh_device_reports *reports, uint32_t device);

/* The reports of device 0 and of all that have ever been in a view, one a device; owned: free(). */
sh_status sh_device_reports_list(const sh_device_reports *kept, sh_device_report **reports,
                                 size_t *count) SHOAL_CHECKED;

void sh_device_reports_release(sh_device_reports *reports);

#endif
