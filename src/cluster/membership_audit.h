/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audits: other devices compute all shares of a drawn step again.
 *
 *     device 0    draws an audit when all sums of a step are complete, and adds its key to the
 *                 trailer, so that all devices wait before they apply the step
 *     SUMS        every device commits to a check of what it added. The checks must add up to the
 *                 check of the sum
 *     SHARES      each device computes shares of others again (cluster/recount.h)
 *     DISPUTE     if one differs from what was committed to: who lies (cluster/dispute.h)
 *     DONE        all apply the step
 *
 * A liar is evicted, and the step is repeated without it. If all shares are right, but not their
 * sum, some device changed what it forwarded: as for words that disagree (membership_halt.c), the
 * step is repeated, and then devices are left out one at a time.
 *
 * All devices compute during an audit, each about as much as in the step itself. So auditing a part
 * P of the steps costs P of the computing time, whatever the number of devices.
 *
 * Device 0 draws the audits and compares the checks, so it is trusted.
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_AUDIT_H
#define SHOAL_CLUSTER_MEMBERSHIP_AUDIT_H

#include "cluster/membership_state.h"

/* Proceeds with the reports that have arrived; in a view that works. */
void sh_membership_check_audit(sh_membership *membership);

/* The order for a device. */
void sh_membership_order_audit(sh_audit_order *order, const sh_membership *membership,
                               uint32_t device);

/* Whether the audit waits for this device alone, among others. */
bool sh_membership_awaits_audit(const sh_membership *membership, const sh_roster_entry *one);

#endif
