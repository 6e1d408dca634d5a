/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions while all devices are halted: where to continue, which replica to restore, and which
 * device to evict because it is faulty repeatedly.
 *
 *     if (membership->phase == SH_MEMBERSHIP_HALTING)
 *         sh_membership_check_halted(membership);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_HALT_H
#define SHOAL_CLUSTER_MEMBERSHIP_HALT_H

#include "cluster/membership_state.h"

/* HALTING to RECOVERING, or to the job's end, once all are halted. */
void sh_membership_check_halted(sh_membership *membership);

/* All devices of the view applied step `steps`: clears their earlier faults. */
void sh_membership_note_step(sh_membership *membership, uint64_t steps);

#endif
