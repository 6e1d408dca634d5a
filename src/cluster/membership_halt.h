/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows when all stand still: where they go on, whose replica is brought back, and who is
 * put out because it is wrong again and again.
 *
 *     if (membership->phase == SH_MEMBERSHIP_HALTING)
 *         sh_membership_check_halted(membership);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_HALT_H
#define SHOAL_CLUSTER_MEMBERSHIP_HALT_H

#include "cluster/membership_state.h"

/* HALTING to RECOVERING, or to the job's end, once all stand still. */
void sh_membership_check_halted(sh_membership *membership);

/* A step was applied by all of the view: `steps` by now. Their faults before it are history. */
void sh_membership_note_step(sh_membership *membership, uint64_t steps);

#endif
