/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each device of a job has done, kept after it is gone.
 *
 *     sh_ledger_open(&ledger, device, name);
 *     sh_ledger_note(&ledger, device, &report, true);   // its newest figures, as often as they
 * come sh_ledger_release(&ledger);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_LEDGER_H
#define SHOAL_NODE_LEDGER_H

#include "base/fail.h"
#include "shoal/train.h"

/* All zero: an empty one. */
typedef struct sh_ledger {
    struct sh_ledger_entry *entries; /* owned, in the order of coming */
    size_t count;
} sh_ledger;

/* A device has come. Without memory for it, its figures are not kept. */
void sh_ledger_open(sh_ledger *ledger, uint32_t device, const char *name);

/* Its figures, of which the report's name counts for nothing; and whether it is in a view,
 * as it has been where it computed something. */
void sh_ledger_note(sh_ledger *ledger, uint32_t device, const sh_device_report *report,
                    bool takes_part);

/* The name of a device; "" where it is not known. Borrowed until the next change. */
const char *sh_ledger_name(const sh_ledger *ledger, uint32_t device);

/* The reports of device 0 and of all that have ever been in a view; owned: free(). */
sh_status sh_ledger_reports(const sh_ledger *ledger, sh_device_report **reports,
                            size_t *count) SHOAL_CHECKED;

void sh_ledger_release(sh_ledger *ledger);

#endif
