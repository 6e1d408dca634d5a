/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device and the coordinator tell each other in the audit of a step. The report is in the
 * device's notice, the order in its directive (cluster/membership_audit.h).
 *
 * Threads: any; values.
 */
#ifndef SHOAL_CLUSTER_AUDIT_H
#define SHOAL_CLUSTER_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ranges.h"
#include "train/sum_check.h"

/* A device has summed a step and waits for its audit. */
typedef struct sh_audit_report {
    uint32_t key;            /* of the audit; 0: it waits for none */
    uint32_t round;          /* the last one that it answered; 0: none */
    sh_ranges grains;        /* that it added to the sum */
    sh_sum_check own, total; /* what it added, and the sum */
    sh_sum_check answer;     /* of `round` */
} sh_audit_report;

/* Rounds of a device ascend. */
typedef struct sh_audit_order {
    uint32_t key;     /* of the audit; 0: none */
    bool passed;      /* apply the step */
    uint32_t round;   /* compute `grains` and report their check; 0: nothing */
    sh_ranges grains; /* not empty in a round */
} sh_audit_order;

#endif
