/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who computes and who stands by, as cluster/standby finds it from what is known of the members.
 *
 *     if (sh_membership_select(membership))         // a tick
 *         sh_membership_halt(membership);
 *     if (one->rests && !one->seated) ... it stands by ...
 *
 * A device that is new stands by until it is decided whether it computes. Devices on the
 * coordinator's machine, which the user has asked for, and servers that were chosen always compute.
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_SELECT_H
#define SHOAL_CLUSTER_MEMBERSHIP_SELECT_H

#include "cluster/membership_state.h"

/* Whether devices may be left out at all. */
bool sh_membership_selects(const sh_membership *membership);

/* A tick: sets who rests. True: devices have a seat from now on that could not take the replica
 * while the others work, so all are to halt. */
bool sh_membership_select(sh_membership *membership);

/* One that rests has no seat any more. */
void sh_membership_rest(sh_membership *membership, sh_roster_entry *one);

#endif
