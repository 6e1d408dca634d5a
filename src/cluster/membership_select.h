/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses which devices compute and which are on standby, with cluster/standby. A new device is on
 * standby until the decision. Local devices, which the user asked for, and chosen servers always
 * compute.
 *
 *     if (sh_membership_select(membership))         // a tick
 *         sh_membership_halt(membership);
 *     if (one->on_standby && !one->seated) ... it is on standby ...
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_SELECT_H
#define SHOAL_CLUSTER_MEMBERSHIP_SELECT_H

#include "cluster/membership_state.h"

bool sh_membership_selects(const sh_membership *membership);

/* A tick: updates `on_standby` of each member. True: all must halt, because new seats went to
 * devices that cannot receive the replica during training. */
bool sh_membership_select(sh_membership *membership);

/* Puts a device that lost its seat on standby. */
void sh_membership_set_standby(sh_membership *membership, sh_roster_entry *one);

#endif
