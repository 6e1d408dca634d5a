/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Succession: the devices that could replace the coordinator (the heirs), whether another device
 * already has, and handing over the role.
 *
 *     sh_coordinator_tend_heirs(coordinator);        // each tick
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_COORDINATOR_HEIRS_H
#define SHOAL_NODE_COORDINATOR_HEIRS_H

#include "node/coordinator/coordinator_impl.h"

/* Each tick: sends heartbeats and the list of heirs to devices, and asks the doors of lost devices
 * whether another device coordinates. */
void sh_coordinator_tend_heirs(sh_coordinator *coordinator);

/* Remembers the door of a current or former device. */
void sh_coordinator_know_door(sh_coordinator *coordinator, const sh_door *door);

/* Another device coordinates at `door`; if its number is not 0, it begins now. Notifies all
 * devices; this one follows. */
void sh_coordinator_move(sh_coordinator *coordinator, const sh_door *door);

/* Hands the role to the heir `name`, or to the first heir if it is "". SH_REFUSED: as for
 * sh_coordinator_hand_over. */
sh_status sh_coordinator_bequeath(sh_coordinator *coordinator, const char *name,
                                  char receiver[SH_NAME_BYTES]) SHOAL_CHECKED;

/* Answers a device that looks for the coordinator with the coordinator's current address. */
void sh_coordinator_show_way(const sh_coordinator *coordinator, sh_channel *channel);

void sh_coordinator_end_heirs(sh_coordinator *coordinator);

#endif
