/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many records a device may send: a bucket that fills with time, one for each device. What is
 * beyond it is dropped and counted, so that one device neither fills the journal's queue, in which
 * the records of the others wait, nor the disk.
 *
 *     sh_allowance_apply(&from->allowance, &batch, now_ns);
 *     sh_run_journal_batch(journal, device, &batch);
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_ALLOWANCE_H
#define SHOAL_NODE_ALLOWANCE_H

#include "node/record/telemetry.h"

/* Steps and samples a second, and those that may come at once: a device alone on a small model
 * makes some thousand steps a second. */
#define SH_ALLOWANCE_RECORDS 4096
#define SH_ALLOWANCE_TELL_NS 1000000000ULL /* between two reports of what was dropped */

/* Zeroed to begin with. */
typedef struct sh_allowance {
    bool begun;
    double left;      /* records that may come now */
    uint64_t at_ns;   /* when `left` was reckoned */
    uint64_t told_ns; /* when the last report was made */
    uint64_t untold;  /* dropped since, by the device or here */
} sh_allowance;

/* Cuts a batch to what may come. Its `dropped` becomes what was dropped since the last report, or
 * 0 while that is less than SH_ALLOWANCE_TELL_NS ago. */
void sh_allowance_apply(sh_allowance *allowance, sh_telemetry_batch *batch, uint64_t now_ns);

#endif
