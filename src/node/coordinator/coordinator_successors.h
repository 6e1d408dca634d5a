/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Succession: the devices that could replace the coordinator (the successors), whether another
 * device already has, and handing over the role.
 *
 *     sh_coordinator_update_successors(coordinator);        // each tick
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_COORDINATOR_SUCCESSORS_H
#define SHOAL_NODE_COORDINATOR_SUCCESSORS_H

#include "node/coordinator/coordinator_impl.h"

/* Each tick: sends heartbeats and the list of successors, and asks the endpoints of lost devices
 * whether another device coordinates. */
void sh_coordinator_update_successors(sh_coordinator *coordinator);

/* Remembers the endpoint of a current or former device. */
void sh_coordinator_add_endpoint(sh_coordinator *coordinator, const sh_endpoint *endpoint);

/* Another device coordinates at `endpoint`; if its number is not 0, it begins now. Notifies all
 * devices; this one follows. */
void sh_coordinator_move(sh_coordinator *coordinator, const sh_endpoint *endpoint);

/* Hands the role to the successor `name`, or to the first one that can be reached if it is "".
 * SH_REFUSED: as for sh_coordinator_hand_over. */
sh_status sh_coordinator_hand_over_to(sh_coordinator *coordinator, const char *name,
                                      char receiver[SH_NAME_BYTES]) SHOAL_CHECKED;

/* This device hangs: hands the role to the first successor that can be reached, if any. */
void sh_coordinator_resign(sh_coordinator *coordinator);

/* Sends the coordinator's current address to a device that looks for it. */
void sh_coordinator_send_address(sh_coordinator *coordinator, sh_channel *channel);

void sh_coordinator_end_succession(sh_coordinator *coordinator);

#endif
