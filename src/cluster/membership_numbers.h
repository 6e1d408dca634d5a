/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sum with numbers that are not finite: the job has gone astray, or one device computes wrongly.
 * If one device alone has added such numbers, others compute its grains again; only if one of them
 * has them too, or there is no other, the job ends. If the step passes, the device was wrong: it is
 * named, and put out if it has such numbers alone again.
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

/* HALTING, all stand still, `recovery` is judged and `next` has its seats. */
sh_finding sh_membership_check_numbers(sh_membership *membership);

/* Gives the share of a device whose grains others are to compute to them, in the next stage. */
void sh_membership_spare_suspect(const sh_membership *membership, sh_range *shares);

/* A step was applied. */
void sh_membership_numbers_passed(sh_membership *membership);

#endif
