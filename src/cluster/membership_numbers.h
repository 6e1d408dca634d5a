/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a sum with non-finite numbers: the training diverged, or one device computes wrongly. If
 * only one device added such numbers, others compute its grains again. If one of them finds them
 * too, or there is no other device, the job ends. If the step succeeds, the first device was
 * faulty: it is reported, and evicted if it does so again.
 *
 *     found = sh_membership_check_numbers(membership);
 *     ... deal shares ...
 *     sh_membership_spare_suspect(membership, shares);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_NUMBERS_H
#define SHOAL_CLUSTER_MEMBERSHIP_NUMBERS_H

#include "cluster/membership_state.h"

/* HALTING, once `recovery` is decided and `next` has its seats. */
sh_finding sh_membership_check_numbers(sh_membership *membership);

/* Deals the suspect's share of the next stage to the others. */
void sh_membership_spare_suspect(const sh_membership *membership, sh_range *shares);

/* A step was applied: reports the suspect as faulty. */
void sh_membership_numbers_passed(sh_membership *membership);

#endif
